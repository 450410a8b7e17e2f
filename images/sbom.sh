#!/bin/sh
# sbom.sh SERVICE [whole]: what is in its image as CycloneDX 1.5: the packages of Debian that /tmp/libraries came from, or all of them.
set -eu
{
  if [ "${2:-}" = whole ]; then
    dpkg-query -W -f='${Package}\t${Version}\t${Architecture}\n'
  else
    # dpkg knows files by where their package put them, before /lib became a link.
    { sort -u /tmp/libraries | while read -r file; do
      real=$(readlink -f "$file")
      dpkg-query -S "$real" 2>/dev/null || dpkg-query -S "${real#/usr}" 2>/dev/null || dpkg-query -S "$file"
    done | cut -d: -f1; echo ca-certificates; } | sort -u | xargs dpkg-query -W -f='${Package}\t${Version}\t${Architecture}\n'
  fi
} | LC_ALL=C sort -u | awk -F'\t' -v service="$1" '
  BEGIN { printf "{\"bomFormat\":\"CycloneDX\",\"specVersion\":\"1.5\",\"version\":1,\"metadata\":{\"component\":{\"type\":\"container\",\"name\":\"galen-%s\"}},\"components\":[", service }
  { version = $2; gsub(/\+/, "%2B", version); gsub(/:/, "%3A", version)
    printf "%s{\"type\":\"library\",\"name\":\"%s\",\"version\":\"%s\",\"purl\":\"pkg:deb/debian/%s@%s?arch=%s&distro=debian-12\"}", (NR > 1 ? "," : ""), $1, $2, $1, version, $3 }
  END { print "]}" }'
