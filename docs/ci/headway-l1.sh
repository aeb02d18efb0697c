#!/bin/sh
# L1 on one pull request (CHANGE against BASE), on a disk that is thrown away afterwards. headway.toml is the base's: a
# change brings neither the rules that it is judged by nor a waiver for itself. The log says what waivers people granted.
# It is sent back only where one was used, so that `headway validate show` counts it; a use that cannot be recorded does
# not count, and if another job was quicker, L1 runs again on what that one left.
set -eu
remote="${HEADWAY_REMOTE:-origin}"
summary="${GITHUB_STEP_SUMMARY:-/dev/stderr}"
scratch="$(mktemp -d)"
git show "$BASE:headway.toml" > "$scratch/headway.toml"

for try in 1 2 3; do
    export HEADWAY_STATE="$scratch/state-$try"
    headway log pull "$remote" >&2
    code=0
    headway validate run L1 --config "$scratch/headway.toml" --change "$CHANGE" --base "$BASE" \
        --summary "$scratch/summary-$try" || code=$?
    if ! grep -q '^\*\*[0-9]* waived' "$scratch/summary-$try" || [ "$code" != 0 ] || headway log push "$remote"; then
        cat "$scratch/summary-$try" >> "$summary"
        exit "$code"
    fi
done
echo "A waiver was used, and its use could not be recorded on $remote." | tee -a "$summary"
exit 4
