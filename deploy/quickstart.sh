#!/usr/bin/env bash
# From a fresh clone to trained models: installs missing packages, builds a release, partitions a
# graph in two parts and trains GraphSAGE on it. Each training run ends with a table. The graphs are
# Cora, which the repository carries, and then a generated graph of 100,000 nodes.
#
# Usage: deploy/quickstart.sh [--cluster] [--data DIR] [--epochs N] [--limit SECONDS] [--help]
#   --cluster         two servers and two trainer ranks on loopback, on free ports; without it, one
#                     trainer that maps the partition folder itself
#   --data DIR        the graph in DIR instead (GraphBolt folder, OGB raw folder or edge list)
#   --epochs N        epochs for every graph (default: 30 for Cora, 5 for the generated graph, and for
#                     --data as many as halograph-train chooses)
#   --limit SECONDS   stops a training run that takes longer (default 3600)
# All files go to build/quickstart, or to the folder that HALOGRAPH_WORK names. A later run uses the
# files that are still right. If HALOGRAPH_BIN names a folder of built programs, the script runs them
# and neither installs nor builds. It stops every process that it started, however it ends.
# Exit code: 0 done, 1 failed, 2 wrong usage.
set -euo pipefail

here=$PWD
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${HALOGRAPH_BIN:-$root/build/release/bin}
parts=2
cluster=no
data=
epochs=
limit=3600
started=()  # ids of the processes that may run

say() { printf '%s\n' "quickstart: $*" >&2; }
usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }

fail() {
  say "$@"
  exit 1
}

wrong_usage() {
  say "$@"
  usage >&2
  exit 2
}

# --- Processes. All run in the background, so that a signal takes effect immediately. -------------

# Starts "$2..." and sets `last` to its id. Its output goes to file $1 (or, for "-", where that of this
# script goes).
launch() {
  local output=$1
  shift
  if [ "$output" = - ]; then
    "$@" &
  else
    "$@" >"$output" 2>&1 &
  fi
  last=$!
  started+=("$last")
}

# Sets `left` to the ids $2... without $1.
drop() {
  local gone=$1 pid
  shift
  left=()
  for pid in "$@"; do
    [ "$pid" = "$gone" ] || left+=("$pid")
  done
}

forget() {
  drop "$1" "${started[@]}"
  started=(${left[@]+"${left[@]}"})
}

# Runs a command and waits for its end, at most --limit seconds.
run() {
  launch - "$@"
  await "$(basename "$1")" "$last"
}

# Waits for the processes $2..., called $1. Returns 0 when all have succeeded, 1 when one fails or
# --limit has passed.
await() {
  local name=$1 ended timer code
  shift
  sleep "$limit" &
  timer=$!
  started+=("$timer")
  while [ $# -gt 0 ]; do
    code=0
    wait -n -p ended "$@" "$timer" || code=$?
    if [ "$ended" = "$timer" ]; then
      say "$name: did not end within --limit $limit s"
      return 1
    elif [ "$code" != 0 ]; then
      say "$name: ended with exit code $code"
      return 1
    fi
    drop "$ended" "$@"
    set -- ${left[@]+"${left[@]}"}
    forget "$ended"
  done
  kill "$timer"
  wait "$timer" 2>/dev/null || true
  forget "$timer"
}

some_run() {
  local pid
  for pid in "$@"; do
    if kill -0 "$pid" 2>/dev/null; then return 0; fi
  done
  return 1
}

# Stops processes: sends SIGTERM, and SIGKILL to those that still run after 15 s.
end_processes() {
  local pid tries=150
  [ $# -gt 0 ] || return 0
  kill -TERM "$@" 2>/dev/null || true
  while some_run "$@" && [ "$tries" -gt 0 ]; do
    sleep 0.1
    tries=$((tries - 1))
  done
  kill -KILL "$@" 2>/dev/null || true
  for pid in "$@"; do
    wait "$pid" 2>/dev/null || true
    forget "$pid"
  done
}

leave() {
  local code=$?
  trap '' INT TERM HUP
  end_processes ${started[@]+"${started[@]}"}
  exit "$code"
}

# --- Graphs --------------------------------------------------------------------------------------

# Says, before anything is partitioned, why the input $2, called $1, cannot be trained on, and what is
# possible instead; exits then.
check_input() {
  local name=$1 input=$2 holds=$work/$1.input reason reasons=()
  launch "$holds" "$bin/halograph-partition" inspect --input "$input"
  await "$name: looking at the graph" "$last" || {
    show_outputs "$holds"
    fail "$name: cannot be read"
  }
  if [ "$(grep -c '^node type ' "$holds")" -gt 1 ] || [ "$(grep -c '^relation ' "$holds")" -gt 1 ]
  then
    reasons+=("it has several node types or relations, and the models of halograph-train take one of each")
  elif ! grep -q '^node type .*; features ' "$holds"; then
    reasons+=("its nodes have no features, which every model of halograph-train needs: add some to feature_data in the metadata.yaml of a GraphBolt folder, degrees for example")
  fi
  if ! grep -q '^task .*, train set: ' "$holds"; then
    reasons+=("it has no task with labels of training nodes: add one to tasks in the metadata.yaml of a GraphBolt folder")
  fi
  [ "${#reasons[@]}" -gt 0 ] || return 0
  say "what $input holds:"
  cat "$holds" >&2
  say "$name: this graph can be partitioned and served, but not trained on:"
  for reason in "${reasons[@]}"; do say "  - $reason"; done
  say "to partition it: $bin/halograph-partition run --input $input --output DIR --parts $parts"
  exit 1
}

# Partitions the input $2, called $1, into the folder $3, unless that folder already holds it.
partition() {
  local name=$1 input=$2 graph=$3
  if [ -f "$graph/manifest.json" ]; then
    if "$bin/halograph-partition" verify --input "$input" --graph "$graph" >"$work/$name.verify" 2>&1
    then
      say "$name: $graph holds this graph already"
      return
    fi
    say "$name: $graph is not this graph (see $work/$name.verify); making it again"
  fi
  rm -rf "$graph"
  run "$bin/halograph-partition" run --input "$input" --output "$graph" --parts "$parts" \
    --method metis --seed 1
}

generate() {
  local folder=$1
  if [ -f "$folder/metadata.yaml" ]; then return; fi
  rm -rf "$folder"
  run "$bin/halograph-partition" generate sbm --output "$folder" --nodes 100000 --edges 1000000 \
    --features 64 --classes 8 --seed 1
}

# --- Training ------------------------------------------------------------------------------------

train_embedded() {
  local name=$1 graph=$2
  shift 2
  run "$bin/halograph-train" --graph "$graph" --log "$work/$name.jsonl" "$@"
}

# Waits until the server with id $1 has written its address to the file $2, and prints it.
address_of() {
  local tries=300
  until [ -s "$2" ]; do
    kill -0 "$1" 2>/dev/null || return 1
    [ "$tries" -gt 0 ] || return 1
    sleep 0.1
    tries=$((tries - 1))
  done
  cat "$2"
}

# A port that was free a moment ago, below those that the system gives to connections of others.
free_port() {
  python3 -c 'import random, socket, sys
for port in random.sample(range(20000, 32000), 100):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        print(port)
        break
else:
    sys.exit("a hundred ports were taken")'
}

show_outputs() {
  local file
  for file in "$@"; do
    say "the end of $file:"
    tail -n 20 "$file" >&2 || true
  done
}

# Starts two servers and two ranks, shows the status of the servers, and stops them.
train_cluster() {
  local name=$1 graph=$2 part pid port addresses=() servers=() ranks=() outputs=()
  shift 2
  for part in $(seq 0 $((parts - 1))); do
    rm -f "$work/$name.address$part"
    outputs+=("$work/$name.server$part")
    launch "${outputs[-1]}" "$bin/halograph-server" --graph "$graph" --part "$part" \
      --listen 127.0.0.1:0 --address-file "$work/$name.address$part"
    servers+=("$last")
  done
  for part in "${!servers[@]}"; do
    addresses+=("$(address_of "${servers[part]}" "$work/$name.address$part")") || {
      show_outputs "${outputs[part]}"
      fail "$name: server $part did not start to serve"
    }
  done
  say "$name: servers at ${addresses[*]}"

  local list
  list=$(IFS=, && echo "${addresses[*]}")
  port=$(free_port)
  local common=(--servers "$list" --world-size 2 --master-addr 127.0.0.1 --master-port "$port" "$@")
  outputs+=("$work/$name.rank1")
  launch - "$bin/halograph-train" --rank 0 --log "$work/$name.jsonl" "${common[@]}"
  ranks+=("$last")
  launch "${outputs[-1]}" "$bin/halograph-train" --rank 1 "${common[@]}"
  ranks+=("$last")
  await "$name: a trainer rank" "${ranks[@]}" || {
    show_outputs "${outputs[@]}"
    fail "$name: training failed"
  }
  run "$bin/halograph-ctl" status --servers "$list"
  end_processes "${servers[@]}"
}

# Partitions a graph and trains on it. Arguments: name, title, input, options of the trainer.
graph() {
  local name=$1 title=$2 input=$3 mode=embedded
  shift 3
  if [ "$cluster" = yes ]; then mode=cluster; fi
  partition "$name" "$input" "$work/$name-$parts"
  say "$title, $mode"
  "train_$mode" "$name" "$work/$name-$parts" --seed 1 "$@"
  say "$title, $mode: every epoch is in $work/$name.jsonl"
}

read_options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --cluster) cluster=yes ;;
      --data | --epochs | --limit)
        [ $# -ge 2 ] || wrong_usage "$1 needs a value"
        printf -v "${1#--}" '%s' "$2"
        shift ;;
      -h | --help)
        usage
        exit 0 ;;
      *) wrong_usage "unknown option '$1'" ;;
    esac
    shift
  done
  [[ "${epochs:-1}" =~ ^[1-9][0-9]*$ ]] || wrong_usage "--epochs '$epochs' is not a positive number"
  [[ "$limit" =~ ^[1-9][0-9]*$ ]] || wrong_usage "--limit '$limit' is not a positive number"
  if [ -n "$data" ]; then
    data=$(absolute "$data")
    [ -e "$data" ] || wrong_usage "--data '$data' does not exist"
  fi
}

# Makes path $1 absolute. It is relative to the folder where the script was started.
absolute() {
  case $1 in
    /*) printf '%s' "$1" ;;
    *) printf '%s' "$here/$1" ;;
  esac
}

build_programs() {
  local tests=()
  ./deploy/install-packages.sh build
  # A build folder that is configured keeps its tests.
  [ -f build/release/build.ninja ] || tests=(-DHALOGRAPH_TESTS=OFF)
  ./deploy/build.sh release ${tests[@]+"${tests[@]}"} halograph-partition halograph-server \
    halograph-train halograph-ctl
}

main() {
  read_options "$@"
  work=$(absolute "${HALOGRAPH_WORK:-$root/build/quickstart}")
  bin=$(absolute "$bin")
  cd "$root"
  trap leave EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  trap 'exit 129' HUP

  [ -n "${HALOGRAPH_BIN:-}" ] || build_programs
  mkdir -p "$work"

  if [ -n "$data" ]; then
    check_input "$(basename "${data%/}")" "$data"
    graph "$(basename "${data%/}")" "$data" "$data" ${epochs:+--epochs "$epochs"}
    return
  fi
  graph cora "Cora (2,708 nodes, 7 classes)" "$root/tests/data/cora" --epochs "${epochs:-30}" \
    --normalize-features row --lr 0.01 --weight-decay 0.0005 --dropout 0.5 --fanouts 15,10
  generate "$work/sbm-input"
  graph sbm "Planted partition (100,000 nodes, 8 classes)" "$work/sbm-input" --epochs "${epochs:-5}" \
    --hidden 64 --lr 0.01 --fanouts 10,5
}

main "$@"
