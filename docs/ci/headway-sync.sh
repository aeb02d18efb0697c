#!/bin/sh
# One turn of the loop on a disk that is thrown away afterwards: fetch the log and the landing branch, run, send both
# back. Run it in a full clone of the fork (no `--depth`) with headway.toml committed on trunk. Only one may run at a
# time; if two did, the second push of the log is refused and says so.
set -eu
remote="${HEADWAY_REMOTE:-origin}"
branch="${HEADWAY_BRANCH:-headway/sync}"

headway log pull "$remote"
if [ -n "$(git ls-remote "$remote" "refs/heads/$branch")" ]; then
    git fetch --quiet "$remote" "+refs/heads/$branch:refs/heads/$branch"
fi
[ -f "$(git rev-parse --git-common-dir)/headway/log.sqlite3" ] || headway init --upstream "$HEADWAY_UPSTREAM"

code=0
headway sync run || code=$?

# The branch before the log: a branch that the log does not know of is read at the next turn, the other way round
# a landing would be missing. Mode `pull-request` has pushed the branch already.
if git show-ref --quiet --verify "refs/heads/$branch"; then
    git push --quiet "$remote" "refs/heads/$branch"
fi
headway log push "$remote"
exit "$code"
