#!/bin/sh
# tree.sh SERVICE ROOT [whole]: makes the file tree of an image: the program, what it is linked with and the knowledge; with "whole" on top of
# all of this Debian. The same inputs give the same tree, down to its times, which are SOURCE_DATE_EPOCH.
set -eu
service=$1 root=$2
mkdir -p "$root"
if [ "${3:-}" = whole ]; then
  tar -C / --one-file-system --exclude=./proc --exclude=./sys --exclude=./dev --exclude=./tmp --exclude=./run --exclude=./programs \
    --exclude=./knowledge --exclude=./images --exclude=".$root" --exclude='./var/cache/*' --exclude='./var/lib/apt/lists/*' --exclude='./var/log/*' \
    --exclude='./usr/share/doc/*/*' --exclude='./usr/share/man' --exclude='./usr/share/locale' --exclude='./var/lib/systemd' --exclude='./etc/machine-id' \
    --exclude='./usr/lib/x86_64-linux-gnu/perl*' --exclude='__pycache__' -c . | tar -C "$root" -x
  # Nobody becomes more than he is.
  find "$root" -xdev -type f -perm /6000 -exec chmod ug-s {} +
else
  mkdir -p "$root/usr/bin" "$root/usr/lib/$(uname -m)-linux-gnu" "$root/usr/lib64" "$root/etc/ssl/certs" "$root/usr/share/galen" "$root/var"
  for link in bin lib lib64; do ln -s usr/$link "$root/$link"; done
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  cp -L /etc/os-release "$root/etc/os-release"
  echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
fi
# Mount points of the chart.
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/etc/galen" "$root/var/lib/galen" "$root/usr/share/galen"
mkdir -p -m 1777 "$root/tmp"
chmod 1777 "$root/tmp"
printf 'root:x:0:0:root:/:/usr/sbin/nologin\ngalen:x:65532:65532:galen:/:/usr/sbin/nologin\n' >"$root/etc/passwd"
printf 'root:x:0:\ngalen:x:65532:\n' >"$root/etc/group"

case $service in
  toolbox) programs=galen ;;
  node) programs="galen-node galen-gputest" ;;
  *) programs=galen-$service ;;
esac
: >/tmp/libraries
for program in $programs; do
  install -m 0755 "/programs/$program" "$root/usr/bin/"
  strip "$root/usr/bin/$program"
  # A program that is linked with what this Debian does not have was built elsewhere.
  if ldd "/programs/$program" | grep 'not found'; then exit 1; fi
  ldd "/programs/$program" | awk '$2 == "=>" { print $3 } $1 ~ "^/" { print $1 }' >>/tmp/libraries
done
if [ "${3:-}" != whole ]; then
  sort -u /tmp/libraries | while read -r library; do
    cp -L "$library" "$root$(echo "$library" | sed 's,^/lib,/usr/lib,')"
  done
fi
cp -r /knowledge "$root/usr/share/galen/knowledge"
chmod -R go+rX,go-w "$root/usr/share/galen"

/images/sbom.sh "$service" "${3:-}" >"$root/usr/share/galen/sbom.json"
rm -f "$root/.dockerenv"
find "$root" -xdev -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
