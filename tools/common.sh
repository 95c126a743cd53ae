# Shared by tools/*, ./run and ./test (bash, sourced): where things lie, and how progress is told.

root_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What is downloaded or built once and used by every checkout.
if [ -n "${CUBEPLANE_CACHE:-}" ]; then
  cache_dir=$CUBEPLANE_CACHE
elif [ "$(id -u)" = 0 ]; then
  cache_dir=/var/cache/cubeplane
else
  cache_dir=${XDG_CACHE_HOME:-$HOME/.cache}/cubeplane
fi
export CCACHE_DIR=${CCACHE_DIR:-$cache_dir/ccache}
# Each checkout has its own data: two of them run side by side.
default_data() {
  local name
  name=$(basename "$root_dir" | tr -cd 'A-Za-z0-9_-' | cut -c1-20)-$(printf %s "$root_dir" | sha256sum | cut -c1-6)
  if [ "$(id -u)" = 0 ] || can_sudo; then echo "/var/lib/cubeplane/$name"; else echo "${XDG_DATA_HOME:-$HOME/.local/share}/cubeplane/$name"; fi
}
# Whether sudo works without a question; `./run` asks once at its start where a terminal is there.
can_sudo() { [ "$(id -u)" != 0 ] && command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
binary=$root_dir/build/release/src/cmd/cubeplane
# A private Python of the user (pyenv and the like) is not what the sandbox will see.
python=/usr/bin/python3

# One line about what is going on; to stderr, so that stdout stays for results.
say() { printf '%s\n' "$*" >&2; }
# The one sentence with which a run ends that cannot go on, and its exit code.
fail() { printf 'cubeplane: %s\n' "$1" >&2; exit "${2:-1}"; }

# step TITLE USUALLY LOG COMMAND...: runs the command with its output in LOG, showing how long it takes: one rewritten
# line on a terminal, a line at start and end elsewhere. False when the command failed; the caller says what to do.
step() {
  local title=$1 usually=$2 log=$3 start=$SECONDS code=0 pid
  shift 3
  mkdir -p "$(dirname "$log")"
  if [ -t 2 ]; then
    "$@" >"$log" 2>&1 </dev/null & pid=$!
    while kill -0 "$pid" 2>/dev/null; do
      # Ninja's own count, when that is what runs.
      printf '\r\033[K%s  %s%d s of about %s' "$title" "$(tail -c 4000 "$log" 2>/dev/null | tr '\r' '\n' | grep -aoE '^\[[0-9]+/[0-9]+\]' | tail -1 | sed 's/$/  /')" \
        $((SECONDS - start)) "$usually" >&2
      sleep 0.5
    done
    wait "$pid" || code=$?
    printf '\r\033[K' >&2
  else
    say "$title (about $usually) …"
    "$@" >"$log" 2>&1 </dev/null || code=$?
  fi
  if [ "$code" = 0 ]; then say "$title: done in $((SECONDS - start)) s"; else say "$title: failed after $((SECONDS - start)) s"; fi
  return "$code"
}

# As root, or through sudo without a prompt later on: asked once, at the start.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}
