#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Puts a built site on the branch gh-pages of the remote "origin": deploy_site.sh SITE dev|vX.Y.Z
set -euo pipefail
[ $# = 2 ] || { sed -n '3s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
site=$1 version=${2#v}
branch=gh-pages
work=$(mktemp -d)
trap 'git worktree remove --force "$work/pages" 2>/dev/null || true; rm -rf "$work"' EXIT
if git fetch --quiet origin "$branch" 2>/dev/null; then
  git worktree add --quiet --detach "$work/pages" FETCH_HEAD
else  # the first version
  git worktree add --quiet --detach "$work/pages"
  git -C "$work/pages" checkout --quiet --orphan "$branch-new"
  git -C "$work/pages" rm -r --quiet --force --ignore-unmatch .
fi
"$(dirname "${BASH_SOURCE[0]}")/add_site_version.py" "$site" "$work/pages" "$version"
git -C "$work/pages" add --all
if git -C "$work/pages" diff --cached --quiet; then
  echo "nothing changed"
  exit 0
fi
git -C "$work/pages" -c user.name=docs -c user.email=docs@localhost commit --quiet --message "Deploy the documents of $version"
git -C "$work/pages" push --quiet origin "HEAD:refs/heads/$branch"
