#!/bin/sh
# Joins the cgroups that a node sees as the roots, takes a cgroup namespace, moves to those that its processes are in, takes all other
# namespaces, and becomes the node's first process.
# Usage: node-enter.sh NETNS FOLDER NAME "ROOT..." "LEAF..."
set -eu
netns=$1 folder=$2 name=$3 roots=$4 leaves=${5:-}

for cgroup in $roots; do
  echo $$ > "$cgroup/cgroup.procs"
done
if [ -n "$leaves" ]; then
  exec unshare --cgroup sh "$0" "$netns" "$folder" "$name" "$leaves"
fi
exec nsenter --net="$netns" unshare --mount --uts --ipc --pid --fork --kill-child --mount-proc --propagation private \
  sh "$(dirname "$0")/node-init.sh" "$folder" "$name"
