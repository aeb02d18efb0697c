#!/bin/sh
# The clock, one look: what is due on trunk runs, on a disk that is thrown away afterwards. Run it in a full clone of the
# fork (no `--depth`) with headway.toml on trunk. Whatever did not run is an alarm, and an alarm fails the job.
#
# A job that is killed has not sent its log: the next one does the same again, and finds the issues that were filed by
# their keys. HEADWAY_LIMIT ends the watch before the CI service ends the job, and the next one goes on where it was.
set -eu
remote="${HEADWAY_REMOTE:-origin}"

headway log pull "$remote"
code=0
timeout --signal=INT "${HEADWAY_LIMIT:-4h}" headway validate watch --once || code=$?
[ ! -f "$(git rev-parse --git-common-dir)/headway/log.sqlite3" ] || headway log push "$remote"
headway validate show || code=1
exit "$code"
