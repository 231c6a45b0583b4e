#!/usr/bin/env bash
# Builds the program and packs it as build/deb/attend_VERSION_ARCHITECTURE.deb, with manual pages and completions. What it depends on is what
# dpkg-shlibdeps finds that it links. It is for the Debian or Ubuntu it is built on.
set -euo pipefail
cd "$(dirname "$0")/.."

maintainer=${DEB_MAINTAINER:-attend maintainers <maintainers@attend.invalid>}
version=$(sed -n 's/^project(attend VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
architecture=$(dpkg --print-architecture)
when=$(git log -1 --format=%cD 2>/dev/null || date -R)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date -d "$when" +%s)}

cmake --preset release >build/configure.log || { cat build/configure.log; exit 1; }
cmake --build --preset release --target attend_program -- --quiet >&2

root=$PWD/build/deb/root
rm -rf build/deb
mkdir -p "$root/DEBIAN" build/deb/debian
DESTDIR=$root cmake --install build/release --component program --prefix /usr --strip >build/deb/install.log
share=$root/usr/share
mkdir -p "$share/zsh/vendor-completions" "$share/doc/attend"
mv "$share"/zsh/site-functions/_attend "$share/zsh/vendor-completions/"
rmdir "$share/zsh/site-functions"
gzip -9n "$share"/man/man1/*.1

{
  echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
  echo "Upstream-Name: attend"
  echo
  echo "Files: *"
  echo "Copyright: $(date -d "$when" +%Y) the authors of attend"
  echo "License: Apache-2.0"
  echo " On Debian systems, the text of this licence is in /usr/share/common-licenses/Apache-2.0."
} >"$share/doc/attend/copyright"
{
  echo "attend ($version) unstable; urgency=medium"
  echo
  echo "  * As built from its repository."
  echo
  echo " -- $maintainer  $when"
} | gzip -9n >"$share/doc/attend/changelog.gz"

# dpkg-shlibdeps wants to be where a source package is.
printf 'Source: attend\n\nPackage: attend\nArchitecture: any\n' >build/deb/debian/control
depends=$(cd build/deb && dpkg-shlibdeps -O root/usr/bin/attend 2>shlibdeps.log | sed -n 's/^shlibs:Depends=//p')
depends=$(sed -E 's/(libcurl4[a-z0-9]*) \(>= [0-9.]+\)/\1 (>= 7.85)/' <<<"$depends")  # of which options are asked for that have no symbol
cat >"$root/DEBIAN/control" <<CONTROL
Package: attend
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Depends: $depends
Recommends: ca-certificates, fonts-dejavu-core
Section: science
Priority: optional
Description: self-attention that is exact and shows its work
 attend runs transformer models on the processor and shows what their attention
 does with a text: in the terminal, in figures and in the browser. It makes
 vectors of texts, from files and over HTTP, lets models write, and trains small
 ones. Results do not depend on threads or batches, down to the bit.
CONTROL
(cd "$root" && find usr -type f -printf '%P\n' | sort | sed 's|^|usr/|' | xargs -d '\n' md5sum >DEBIAN/md5sums)
chmod -R u=rwX,go=rX "$root"
package=build/deb/attend_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
