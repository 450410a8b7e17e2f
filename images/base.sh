#!/usr/bin/env bash
# base.sh TAG: a base for the images where no registry can be reached: Debian 12, made by debootstrap from its archive (or the MIRROR that is
# given) and tagged here. Needs root and Debian's package debootstrap. Then: make images BASE=TAG
set -euo pipefail
tag=${1:?base.sh TAG}
mirror=${MIRROR:-http://deb.debian.org/debian}
docker=${DOCKER:-docker}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
debootstrap --variant=minbase bookworm "$scratch/root" "$mirror" >"$scratch/log" 2>&1 || { tail "$scratch/log" >&2; exit 1; }
cat >"$scratch/root/etc/apt/sources.list" <<SOURCES
deb $mirror bookworm main
deb $mirror bookworm-updates main
deb ${MIRROR_SECURITY:-http://deb.debian.org/debian-security} bookworm-security main
SOURCES
rm -rf "$scratch"/root/var/cache/apt/archives/*.deb "$scratch"/root/var/lib/apt/lists/* "$scratch"/root/var/log/*
tar -C "$scratch/root" --numeric-owner --sort=name -c . | "$docker" import - "$tag" >/dev/null
echo "images: $tag is Debian $(cat "$scratch/root/etc/debian_version")"
