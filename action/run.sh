#!/usr/bin/env bash
# Runs between fetching the base branch's profile and storing this one:
#
#   .crossprof/base/profile.json   the profile of the base branch, if one was stored; then that of this change
#   .crossprof/report/             summary.md, digest.md, report.html, profile.json, and with a baseline comparison.html and comparison.json
#
# PROFILE, BUDGET, BASELINE and FAIL_ON are the action's inputs.
set -euo pipefail

report=.crossprof/report
stored=.crossprof/base/profile.json
mkdir -p "$report" "$(dirname "$stored")"
# The action may have run for another profile of this job.
rm -f "$report"/*.md
baseline=${BASELINE:-}
if [ -z "$baseline" ] && [ -f "$stored" ]; then
    baseline=$stored
fi

status=0
# Keeps the first failure. The remaining commands still run, for the report.
note() {
    if [ "$status" -eq 0 ]; then status=$1; fi
}

# Exit status 1 is a damaged profile; the report shows the damage.
crossprof analyze "$PROFILE" --output-json "$report/profile.json" --output "$report/report.html" --format markdown \
    > "$report/summary.md" || [ $? -eq 1 ]
if [ -n "${BUDGET:-}" ]; then
    relative=()
    if [ -n "$baseline" ]; then relative=(--baseline "$baseline"); fi
    crossprof check "$PROFILE" --budget "$BUDGET" ${relative[@]+"${relative[@]}"} \
        --output "$report/budget.md" --output "$report/junit.xml" || note $?
fi
if [ -n "$baseline" ]; then
    fail=()
    if [ -n "${FAIL_ON:-}" ]; then fail=(--fail-on "$FAIL_ON"); fi
    crossprof compare "$baseline" "$PROFILE" --name base --name change ${fail[@]+"${fail[@]}"} \
        --output "$report/comparison.html" --output "$report/comparison.md" --output-json "$report/comparison.json" || note $?
fi

# The check of a budget begins with the digest.
if [ ! -f "$report/budget.md" ]; then
    {
        printf '<details><summary>Digest for an assistant</summary>\n\n```text\n'
        crossprof digest "$PROFILE" || [ $? -eq 1 ]
        printf '```\n\n</details>\n'
    } > "$report/digest.md"
fi

for part in comparison.md budget.md digest.md summary.md; do
    if [ -f "$report/$part" ]; then
        cat "$report/$part" >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
        echo >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
    fi
done
cp "$report/profile.json" "$stored"
echo "status=$status" >> "${GITHUB_OUTPUT:-/dev/null}"
exit "$status"
