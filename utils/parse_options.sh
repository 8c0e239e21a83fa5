# Command-line options for bash scripts: source this file after the variables that are options got their defaults.
#
#   nj=4
#   skip_wav=false
#   help_message="Usage: steps/x.sh [--nj <n>] [--skip-wav true|false] <data-dir>"
#   . utils/parse_options.sh
#
# --skip-wav true sets skip_wav=true; what follows the options stays in "$@". An option that has no variable is an
# error, and so is anything but true or false where the default is one of them. --config <file> sources a file of
# assignments first, so that the command line wins. --help prints $help_message. Options that $_flags names need no
# value: with _flags="dry_run", --dry-run is --dry-run true.
#
# shellcheck shell=bash

_po_fail() {
  printf '%s: %s; try --help\n' "$0" "$1" >&2
  exit 1
}

# The variable of an option: --foo-bar -> foo_bar, in $_po_name. Lower case only, so that no option can reach PATH
# or IFS; nothing else is ever given to the shell as a name.
_po_name_of() {
  _po_name=${1#--}
  _po_name=${_po_name//-/_}
  [[ $_po_name =~ ^[[:lower:]][[:lower:][:digit:]_]*$ && -v $_po_name ]]
}

# Whether an option is one of $_flags and the word after it is no value of its.
_po_is_alone() {
  _po_name_of "$1" && [[ " ${_flags:-} " == *" $_po_name "* && $2 != true && $2 != false ]]
}

for ((_po_i = 1; _po_i <= $#; _po_i += 2)); do
  [[ ${!_po_i} == --* && ${!_po_i} != --help ]] || break
  _po_j=$((_po_i + 1))
  if _po_is_alone "${!_po_i}" "${!_po_j:-}"; then
    _po_i=$((_po_i - 1))
    continue
  fi
  if [[ ${!_po_i} == --config ]]; then
    config=${!_po_j:-}
    [[ -f $config && -r $config ]] || _po_fail "cannot read the file '$config' of --config"
    # A name without a slash would be looked up in PATH.
    [[ $config == */* ]] || config=./$config
    # shellcheck disable=SC1090  # the file is the user's choice
    . "$config"
  fi
done

while (($# > 0)); do
  case $1 in
    --help | -h)
      printf '%s\n' "${help_message:-$0: no help}"
      exit 0
      ;;
    --*=*) _po_fail "write '${1%%=*} ${1#*=}' instead of '$1'" ;;
    --*)
      _po_name_of "$1" || _po_fail "invalid option $1"
      if _po_is_alone "$1" "${2:-}"; then
        printf -v "$_po_name" true
        shift
        continue
      fi
      if (($# == 1)) || { [[ $2 == --* ]] && _po_name_of "$2"; }; then
        _po_fail "option $1 needs a value"
      fi
      _po_name_of "$1"
      if [[ ${!_po_name} == true || ${!_po_name} == false ]] && [[ $2 != true && $2 != false ]]; then
        _po_fail "option $1 needs true or false, not '$2'"
      fi
      printf -v "$_po_name" '%s' "$2"
      shift 2
      ;;
    *) break ;;
  esac
done

if [[ -v cmd && -z $cmd ]]; then
  _po_fail "option --cmd needs a value that is not empty"
fi
unset -v _po_i _po_j _po_name
unset -f _po_fail _po_name_of _po_is_alone
