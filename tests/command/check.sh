#!/usr/bin/env bash
# check.sh PROGRAM SCRIPT MPIS: what a user reads, and what a script sees, of every command that goes right or wrong.
set -uo pipefail
shunt=$(readlink -f "$1") script=$(readlink -f "$2") mpis=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
passed=0 failed=0

wrong() {
  failed=$((failed + 1))
  printf 'FAILED  %s\n        %s\n' "$name" "$1"
  sed 's/^/        stderr: /' err | head -n 5
  sed 's/^/        stdout: /' out | head -n 5
}

# bad REGEX COMMAND...: status 2, nothing on stdout, and one line on stderr that matches.
# There are thousands of them, so they start no other process.
bad() {
  local expected=$1 status lines
  shift
  name="${*/#$shunt/shunt}"
  "$@" >out 2>err </dev/null
  status=$?
  mapfile lines <err
  if ((status != 2)); then wrong "status $status, expected 2"
  elif ((${#lines[@]} != 1)) || [[ ${lines[0]} != *$'\n' ]]; then wrong "${#lines[@]} lines on stderr, expected 1"
  elif ! [[ ${lines[0]%$'\n'} =~ $expected ]]; then wrong "does not say: $expected"
  elif [[ -s out ]]; then wrong "writes to stdout"
  else passed=$((passed + 1)); fi
}

# good REGEX COMMAND...: status 0, stdout matches, nothing on stderr.
good() {
  local expected=$1 status
  shift
  name="${*/#$shunt/shunt}"
  "$@" >out 2>err </dev/null
  status=$?
  if ((status != 0)); then wrong "status $status, expected 0"
  elif ! grep -Eq -- "$expected" out; then wrong "does not say: $expected"
  elif [[ -s err ]]; then wrong "writes to stderr"
  else passed=$((passed + 1)); fi
}

good 'run APP' "$shunt" --help
good 'run APP' "$shunt" help
good '^shunt [0-9]+\.[0-9]+' "$shunt" --version
good '^triangle ' "$shunt" apps
good '--ranks' "$shunt" run --help
good '^workers ' "$shunt" doctor
if "$shunt" doctor | grep '^transports .*mpi' >/dev/null; then good '^plugin +mpi \(.*\): /.*\.so' "$shunt" doctor; fi
bad 'SHUNT_PLUGINS: .lib. is relative' env SHUNT_PLUGINS=lib "$shunt" run histogram --transport mpi --ranks 2
good '^input/output +epoll; files by (io_uring|helpers)' "$shunt" doctor
bad 'which command' "$shunt"

# catches PID SIGNAL: that process has a handler for the signal, which is a number.
SIGINT=2 SIGUSR1=10
catches() {
  local key caught
  while read -r key caught; do
    if [[ $key == SigCgt: ]]; then
      ((0x$caught >> $2 - 1 & 1))
      return
    fi
  done 2>/dev/null <"/proc/$1/status"
  return 1
}

# A model's result says that it is one; without measured costs it is the same each time; and its bytes are the job's.
machine=$(dirname "$script")/examples/machines/large.json
good 'a model.s result, no measurement' "$shunt" simulate histogram --machine "$machine" --pes 64 --updates 100
bad 'simulate: on which machine' "$shunt" simulate histogram
bad 'nowhere.json: cannot be read .SHUNT-0860' "$shunt" simulate histogram --machine nowhere.json
bad '.nodes.: is missing .SHUNT-0862' "$shunt" simulate histogram --machine <(echo '{}')
bad '.--network slow: must be described or ideal' "$shunt" simulate histogram --machine "$machine" --network slow
bad 'calibrate: unexpected' "$shunt" calibrate now
good '"between_nodes"' "$shunt" calibrate --rounds 9
name='simulate: the same seed gives the same bytes, another one others'
simulated() { "$shunt" simulate histogram --machine "$machine" --from 256 --pes 256 --updates 5000 --json --seed "$1"; }
if [[ $(simulated 7) == "$(simulated 7)" && $(simulated 7) != "$(simulated 8)" ]]; then
  passed=$((passed + 1))
else
  wrong 'they do not'
fi
name='simulate: as many bytes as the job sends'
for app in 'histogram --updates 100000' 'index_gather --reads 100000'; do
  # shellcheck disable=SC2086  # words
  real=$("$shunt" run $app --pes 4 --workers 4 --json | grep -o '"bytes":[0-9]*' | cut -d: -f2)
  # shellcheck disable=SC2086  # words
  model=$("$shunt" simulate $app --from 4 --pes 4 --machine "$machine" --json | grep -o '"bytes":[0-9]*' |
    awk -F: '{sum += $2} END {print sum}')
  if ((model * 100 > real * 99 && model * 100 < real * 101)); then
    passed=$((passed + 1))
  else
    wrong "$app: $model bytes in the model, $real sent"
  fi
done
bad 'unknown command .dokter.; near: doctor' "$shunt" dokter
bad 'unexpected' "$shunt" doctor --yaml
bad 'which application' "$shunt" run
bad 'unknown application .triangel.; near: triangle' "$shunt" run triangel
bad 'unknown application .xyzzy.; known: .*histogram' "$shunt" run xyzzy

declare -A small=(
  [histogram]='--updates 1000'
  [index_gather]='--reads 1000'
  [triangle]='--generate kronecker --scale 6'
  [bfs]='--scale 6 --roots 3'
  [sssp]='--scale 6 --roots 3'
  [components]='--scale 6'
  [pagerank]='--scale 6'
  [jaccard]='--scale 6'
  [kcore]='--scale 6'
  [degrees]='--scale 6'
  [join]='--first 100 --second 200 --keys 50'
  [kmers]='--bases 1000'
  [permute_matrix]='--rows 100'
  [random_access]='--scale 10'
  [random_permutation]='--entries 100'
  [topological_sort]='--rows 100'
  [transpose]='--rows 100'
  [word_count]='--words 1000'
)
for app in "${!small[@]}"; do
  good '--pes' "$shunt" run "$app" --help
  bad '--pes.*0' "$shunt" run "$app" --pes 0
  bad 'banana' "$shunt" run "$app" --pes banana
  bad '--no-such-option' "$shunt" run "$app" --no-such-option
  bad 'transport.*carrier-pigeon|carrier-pigeon.*transport' "$shunt" run "$app" --transport carrier-pigeon
  bad '--ranks needs --transport mpi' "$shunt" run "$app" --ranks 2
  # shellcheck disable=SC2086  # options are words
  good '^pes +3' "$shunt" run "$app" --pes 3 ${small[$app]}
  # shellcheck disable=SC2086
  bad 'no/such/folder' "$shunt" run "$app" --pes 2 ${small[$app]} --output no/such/folder/out.txt
done
good '--hung-up' "$shunt" run daq --help
good '^checked +every frame' "$shunt" run daq --channels 20 --frames 10 --hung-up 2 --garbled 1
good '"frames":200,.*"checked":true' "$shunt" run daq --channels 20 --frames 10 --over pipe --json
good 'channel 0: hung up at frame' "$shunt" run daq --channels 20 --frames 10 --over tcp --hung-up 1
bad '--channels.*0' "$shunt" run daq --channels 0
bad 'banana' "$shunt" run daq --over banana
bad 'daq runs in one process; leave SHUNT_TRANSPORT=mpi out' env SHUNT_TRANSPORT=mpi "$shunt" run daq
good '--hung-up' env SHUNT_TRANSPORT=mpi "$shunt" run daq --help
bad '--frames.*--seconds|--seconds.*--frames' "$shunt" run daq --frames 1 --seconds 1
bad '--stalled 2, .* more than the 3 channels' "$shunt" run daq --channels 3 --stalled 2 --hung-up 2
for pes in 1 2 3 7; do
  good "^pes +$pes on 1 process" "$shunt" run daq --channels 20 --frames 10 --garbled 2 --count-on pes --pes $pes
done
good '"frames":200,.*"checked":true,"messages":200' \
  "$shunt" run daq --channels 20 --frames 10 --count-on pes --pes 3 --over pipe --json
bad "--count-on: 'banana' is not one of stations, pes" "$shunt" run daq --count-on banana
bad '--pes has no meaning without --count-on pes' "$shunt" run daq --pes 2
bad '--transport has no meaning without --count-on pes' "$shunt" run daq --transport mpi
bad '--queue has no meaning with --count-on pes' "$shunt" run daq --count-on pes --queue 8
bad 'leave SHUNT_TRANSPORT=mpi out, or add --count-on pes' env SHUNT_TRANSPORT=mpi "$shunt" run daq
bad '1000000 channels need .* open files' prlimit --nofile=200:200 "$shunt" run daq --channels 1000000
good '^graph +generated: kronecker' "$shunt" run triangle --pes 2 --scale 6
good '^asked by +wedge' "$shunt" run triangle --pes 2 --scale 6 --ask-by wedge --check
good '^asked by +row' "$shunt" run triangle --pes 2 --generate erdos_renyi --vertices 100 --mean 20 --check
good '^look ahead +at most 1024 .* by the rules' "$shunt" run random_access --pes 2 --scale 8
good '^look ahead +any number .* not by the rules' "$shunt" run random_access --pes 2 --scale 8 --look-ahead 0
bad '--seed has no meaning with the stream of the benchmark' "$shunt" run random_access --seed 3
good '^checked +a serial count found the same' "$shunt" run degrees --pes 3 --scale 8 --check --output degrees.txt
good '^0 [0-9]+' cat degrees.txt
good '^checked +a serial join made the same' "$shunt" run join --pes 3 --first 3000 --second 5000 --keys 700 --check
good '^pairs +0' "$shunt" run join --pes 2 --first 0 --second 10
printf '>one\nACGTAC\nGT\n>two\nacgNacg\n' >bases.fa
good '^checked +a serial count found the same' "$shunt" run kmers --pes 3 --bases 3000 --canonical --check
good '^kmers +8' "$shunt" run kmers --pes 2 --k 3 --text bases.fa --check --output histogram.txt
good '^2 [12]' cat histogram.txt
if command -v jellyfish >/dev/null; then  # which counts what we count, with as many threads as we have PEs
  for shape in '5' '5 -C' '2' '3 -C'; do
    # shellcheck disable=SC2086  # options are words
    "$shunt" run kmers --pes 2 --text bases.fa --output found.txt --k ${shape/-C/--canonical} >/dev/null
    for threads in 1 2; do
      # shellcheck disable=SC2086
      jellyfish count -t "$threads" -s 1M -o mers.jf -m $shape bases.fa
      jellyfish histo -h 1000000 mers.jf >wanted.txt
      name="kmers: the histogram of jellyfish, -t $threads -m $shape"
      if cmp -s wanted.txt found.txt; then passed=$((passed + 1)); else wrong "$(diff wanted.txt found.txt)"; fi
    done
  done
fi
bad '^shunt run kmers: --text no/such.fa: No such file or directory' "$shunt" run kmers --text no/such.fa
bad 'histogram.txt: it is not FASTA' "$shunt" run kmers --text histogram.txt
bad '--bases has no meaning with --text' "$shunt" run kmers --text bases.fa --bases 10
printf 'the cat and the dog\n' >words.txt
good '^most frequent +the 2, and 1' "$shunt" run word_count --pes 3 --text words.txt --check --top 2
good '"words":5,"different":4,"counted":true,"checked":true' "$shunt" run word_count --text words.txt --check --json
good '^checked +a serial count found the same' "$shunt" run word_count --pes 5 --words 20000 --check
bad '^shunt run word_count: --text .: Is a directory' "$shunt" run word_count --text .
bad '--look-ahead 2: a process has 3 PEs' "$shunt" run random_access --pes 3 --look-ahead 2
bad 'no-such-graph' "$shunt" run triangle --pes 2 --graph no-such-graph.txt
bad 'SHUNT_PESS.*SHUNT_PES' env SHUNT_PESS=3 "$shunt" run histogram


# Of every option of every application: what is no value of it is refused, whatever its type.
for app in "${!small[@]}" daq; do
  while read -r option legal; do
    values=('' '--json' 'nan')
    case $legal in
    TEXT*) values=('' '--json') ;;
    [0-9]* | BYTES*) values+=(-1 -18446744073709551615 99999999999999999999999 1e999 ' 1' 0x1 1,5 inf) ;;
    TIME*) values+=(-1ms banana 10 '10 min') ;;
    *'|'*) values+=(banana ' ') ;;
    *) name="--help of $app: $option" && wrong "a type of values that is not tested: $legal" && continue ;;
    esac
    for value in "${values[@]}"; do bad "^shunt run $app: .*$option" "$shunt" run "$app" "$option" "$value"; done
    bad "^shunt run $app: $option(: (expected a value, found nothing|'' is not )| needs a value)" \
      "$shunt" run "$app" "$option="
  done < <("$shunt" run "$app" --help |
    sed -n 's/^  \(--[a-z-]*\) \([^ ]\{1,\}\) .*/\1 \2/p; s/^  \(--[a-z-]*\) \([^ ]\{1,\}\)$/\1 \2/p')
done
name='every option that takes a value was tried'
if ((passed < 300)); then wrong "only $passed lines so far"; else passed=$((passed + 1)); fi

# What no machine has memory for is said with both numbers, before it is taken.
bad '^shunt run triangle: --scale 31 --edge-factor 1048576: takes .* GiB of memory, and .* are left' \
  "$shunt" run triangle --scale 31 --edge-factor 1048576
bad '^shunt run histogram: PE [0-9]+: --updates 1099511627776 .* takes .* GiB of memory' \
  "$shunt" run histogram --updates 1099511627776
# All processes of this machine count, as their launcher says how many it has started here.
bad '^shunt run word_count: --words 1000000: takes .* GiB of memory in all processes .*, and .* are left' \
  env MPI_LOCALNRANKS=10000000 "$shunt" run word_count --words 1000000

# Options that have no meaning together.
printf '0 1\n1 2\n2 0\n' >graph.txt
for alone in '--scale 6' '--vertices 10' '--mean 3' '--edge-factor 2' '--seed 1' '--generate kronecker'; do
  # shellcheck disable=SC2086  # options are words
  bad "^shunt run triangle: ${alone%% *} has no meaning with --graph" "$shunt" run triangle --graph graph.txt $alone
done
bad '--vertices has no meaning with --generate kronecker' "$shunt" run triangle --vertices 10
bad '--scale has no meaning with --generate erdos_renyi' "$shunt" run triangle --generate erdos_renyi --scale 6
bad '--seed has no meaning with a product of stars' "$shunt" run triangle --generate 1:3x4 --seed 6
for alone in '--graph graph.txt' '--scale 6' '--vertices 10' '--mean 3' '--edge-factor 2' '--generate 1:3x4'; do
  # shellcheck disable=SC2086  # options are words
  bad "^shunt run bfs: ${alone%% *} has no meaning with --graph500" "$shunt" run bfs --graph500 5 $alone
done
bad '--root excludes --roots|--roots excludes --root' "$shunt" run bfs --root 1 --roots 2
bad '--root 64: the graph has the vertices 0..63' "$shunt" run bfs --scale 6 --root 64
bad '--root 7: graph.txt has no such vertex' "$shunt" run sssp --graph graph.txt --root 7
bad '--form' "$shunt" run bfs --form class
bad '--seed has no meaning with --graph' "$shunt" run pagerank --graph graph.txt --seed 3
bad '--header has no meaning without --graph' "$shunt" run triangle --header yes
bad '--rows-ok has no meaning without --graph' "$shunt" run triangle --rows-ok
bad 'found "banana"' "$shunt" run triangle --generate banana
bad 'a mean of 35' "$shunt" run triangle --generate erdos_renyi --vertices 10
bad '--ranks: given twice' "$shunt" run histogram --transport mpi --ranks 2 --ranks=3

# What was left out is said in either order, and --check counts once more.
printf '4 4\n1 2\n2 1\n3 1\n3 2\n1 3\n' >loops.txt
for order in degree given; do
  good '^self loops +1 left out' "$shunt" run triangle --graph loops.txt --order "$order" --pes 2
  good '^duplicates +2 left out' "$shunt" run triangle --graph loops.txt --order "$order" --pes 2
  good '^checked +a serial count found as many' "$shunt" run triangle --graph loops.txt --order "$order" --pes 2 --check
done
good '^duplicates +[1-9]' "$shunt" run triangle --scale 6 --pes 2
good '^checked +no \(--check' "$shunt" run triangle --scale 6 --pes 2
good '"checked":true' "$shunt" run triangle --scale 6 --pes 2 --check --json

# A header is no edge, and is said to be none.
printf '4 3\n1 2\n1 3\n1 4\n' >header.txt
noted() {  # REGEX-OUT REGEX-ERR COMMAND...: status 0, and both say what they should
  local out_says=$1 err_says=$2 status
  shift 2
  name="${*/#$shunt/shunt}"
  "$@" >out 2>err </dev/null
  status=$?
  if ((status != 0)); then wrong "status $status, expected 0"
  elif ! grep -Eq -- "$out_says" out; then wrong "does not say: $out_says"
  elif ! grep -Eq -- "$err_says" err; then wrong "stderr does not say: $err_says"
  else passed=$((passed + 1)); fi
}
noted '^triangles +0$' '^note: header.txt:1: "4 3" is taken for a header.*--header no' \
  "$shunt" run triangle --pes 2 --graph header.txt
good '^triangles +1$' "$shunt" run triangle --pes 2 --graph header.txt --header no
noted '^triangles +0$' 'though 2 lines' "$shunt" run triangle --pes 2 --graph graph.txt --header yes
printf '%%%%MasterMarket matrix coordinate position\n3 3 3\n2 1\n3 1\n3 2\n' >bale.mtx
good '^triangles +1$' "$shunt" run triangle --pes 2 --graph bale.mtx
good '^edges from +every entry of a matrix whose banner says no symmetry, made undirected' \
  "$shunt" run triangle --pes 2 --graph bale.mtx
good '^edges from +every line, made undirected' "$shunt" run triangle --pes 2 --graph graph.txt
printf '%%%%MatrixMarket matrix coordinate pattern symmetric\n1000000000 1000000000 1\n2 1\n' >rows.mtx
bad '^shunt run triangle: rows.mtx:2: found a matrix of 1000000000 rows' "$shunt" run triangle --pes 2 --graph rows.mtx

# Searches, components, ranks and similarities. Two triangles that share an edge, an edge apart, and a path to a tenth.
printf '10 20\n20 30\n30 10\n30 40\n40 20\n50 60\n40 100\n' >two.txt
good '^levels +4 at most' "$shunt" run bfs --pes 3 --graph two.txt --root 10
good '^checked +1 trees, by Graph500' "$shunt" run bfs --pes 3 --graph two.txt --root 10
good '^checked +64 trees' "$shunt" run bfs --pes 2 --graph500 7
good '"harmonic_mean_teps":' "$shunt" run bfs --pes 2 --graph500 7 --json
good '^checked +7 trees' "$shunt" run bfs --pes 2 --graph two.txt
good '^checked +distances are those of a serial search' "$shunt" run sssp --pes 3 --graph two.txt --root 100 --check
good '^components +2$' "$shunt" run components --pes 3 --graph two.txt
good '^largest +5 vertices' "$shunt" run components --pes 3 --graph two.txt
good '^checked +a serial search found the same' "$shunt" run components --pes 3 --graph two.txt --check
good '^checked +a serial loop' "$shunt" run pagerank --pes 3 --graph two.txt --check
good '^top vertex +40' "$shunt" run pagerank --pes 3 --graph two.txt
good '^triangles +2$' "$shunt" run jaccard --pes 3 --graph two.txt
good '^most similar +(20 and 30|30 and 20)' "$shunt" run jaccard --pes 3 --graph two.txt
good '^checked +a serial loop found the same' "$shunt" run jaccard --pes 3 --graph two.txt --check
printf '# no edges\n7 7\n' >loop.txt
good '^degeneracy +2$' "$shunt" run kcore --pes 3 --graph two.txt
good '^innermost core +4 vertices' "$shunt" run kcore --pes 3 --graph two.txt
good '^checked +peeling, serially, found the same' "$shunt" run kcore --pes 3 --graph two.txt --check
good '^degeneracy +0$' "$shunt" run kcore --pes 2 --graph loop.txt
bad '^shunt run bfs: .*loop.txt: a graph without edges has no root' "$shunt" run bfs --pes 2 --graph loop.txt
good '^levels +1 at most' "$shunt" run bfs --pes 2 --graph loop.txt --root 7
good '^components +1$' "$shunt" run components --pes 2 --graph loop.txt
for app in bfs sssp components pagerank jaccard kcore; do
  bad "^shunt run $app: no-such: cannot open" "$shunt" run $app --graph no-such
  bad '--scale has no meaning with --graph' "$shunt" run $app --graph two.txt --scale 3
  bad "^shunt run $app: .*takes .* GiB of memory" "$shunt" run $app --scale 31 --edge-factor 1048576
done

# Matrices and permutations.
printf '%%%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 3\n2 1\n2 3\n' >wide.mtx
printf '%%%%MatrixMarket matrix coordinate pattern general\n3 2 3\n1 2\n3 1\n3 2\n' >high.mtx
printf '%%%%MatrixMarket matrix coordinate pattern general\n2 2 4\n1 1\n1 2\n2 1\n2 2\n' >full.mtx
for form in lambda class natural; do
  good '^checked +a serial transpose is the same' \
    "$shunt" run transpose --form "$form" --pes 3 --graph wide.mtx --output turned.mtx --check
  good '^nonzeros moved +each once' "$shunt" run permute_matrix --form "$form" --pes 3 --graph wide.mtx
  good '^checked +a serial sort of all keys gives the same' \
    "$shunt" run random_permutation --form "$form" --pes 3 --entries 1000 --check
  for app in histogram index_gather permute_matrix random_permutation topological_sort transpose triangle; do
    # shellcheck disable=SC2086
    good "^application +$app, $form form" "$shunt" run $app --pes 3 --form "$form" ${small[$app]}
  done
  good '^checked +a serial count found as many' \
    "$shunt" run triangle --form "$form" --pes 3 --generate kronecker --scale 6 --check
  bad '^shunt run topological_sort: .*full.mtx: no order of rows and columns .*; 0 of 2 rows can be placed' \
    "$shunt" run topological_sort --form "$form" --pes 2 --graph full.mtx
done
good '^asked by +wedge' "$shunt" run triangle --form natural --pes 2 --generate kronecker --scale 6
name='the transpose of a matrix, as a file'
if cmp -s turned.mtx high.mtx; then passed=$((passed + 1)); else wrong "$(cat turned.mtx)"; fi
bad '^shunt run topological_sort: wide.mtx: a matrix of 2 x 3, expected a square one' \
  "$shunt" run topological_sort --graph wide.mtx
for app in permute_matrix topological_sort transpose; do
  bad "^shunt run $app: graph.txt:1: found .*, expected the banner %%MatrixMarket" "$shunt" run $app --graph graph.txt
  bad "^shunt run $app: no-such.mtx: cannot open" "$shunt" run $app --graph no-such.mtx
  bad "^shunt run $app: rows.mtx:2: found a matrix of 1000000000 rows" "$shunt" run $app --graph rows.mtx
  bad '--rows has no meaning with --graph' "$shunt" run $app --graph wide.mtx --rows 3
  bad '--nonzeros has no meaning with --graph' "$shunt" run $app --graph wide.mtx --nonzeros 3
  bad '--rows-ok has no meaning without --graph' "$shunt" run $app --rows-ok
  bad '--nonzeros 10: expected at most' "$shunt" run $app --rows 5
  bad "^shunt run $app: PE [0-9]+: .* takes .* GiB of memory" "$shunt" run $app --rows 4000000000 --nonzeros 1000
done
bad '--seed has no meaning with --graph' "$shunt" run transpose --graph wide.mtx --seed 3
bad '--seed has no meaning with --graph' "$shunt" run topological_sort --graph full.mtx --seed 3

# Names that no terminal and no JSON likes.
odd=$'new\nline \e[31m'
cp graph.txt "$odd"
good '^graph +new\\nline \\x1b\[31m$' "$shunt" run triangle --pes 2 --graph "$odd"
bad 'no-such\\x1b\[31m: cannot open' "$shunt" run triangle --pes 2 --graph $'no-such\e[31m'
bad 'unknown application .a\\x1b' "$shunt" run $'a\e[31m'
latin=$'caf\xe9'
cp graph.txt "$latin"
good '"graph":"caf' "$shunt" run triangle --pes 2 --graph "$latin" --json
good '"SHUNT_PLUGINS": "/caf' env SHUNT_PLUGINS=$'/caf\xe9' "$shunt" doctor --json
good 'Programs will not start: SHUNT_PES: .banana' env SHUNT_PES=banana "$shunt" doctor

# The status does not depend on where the line goes.
status() {  # STATUS TEXT: $? of the command before
  local found=$?
  name=$2
  if ((found != $1)); then wrong "status $found, expected $1"; else passed=$((passed + 1)); fi
}
: >out >err
"$shunt" dokter 2>/dev/full; status 2 'bad usage, and a full disk for stderr'
"$shunt" dokter 2>&-; status 2 'bad usage, and no stderr'
"$shunt" run triangle --graph no-such 2>/dev/full; status 2 'a file that is not there, and a full disk for stderr'
exec {unread}> >(exec true)
wait $!  # for the reader's end
"$shunt" dokter 2>&"$unread"; status 2 'bad usage, and a pipe for stderr that is not read'
"$shunt" apps >&- 2>err; status 1 'no stdout'
"$script" dokter 2>/dev/full; status 2 'the script: bad usage, and a full disk for stderr'

name="the application is named once"
"$shunt" run histogram --pes 2 --updates 1099511627776 >out 2>err
if grep -q 'histogram.*histogram' err || ! grep -q '^shunt run histogram: ' err; then
  wrong 'twice, or not'
else
  passed=$((passed + 1))
fi

if [[ -n $mpis ]]; then
  name='a launcher that starts nothing is named, with its status'
  "$shunt" run histogram --transport mpi --launcher false >out 2>err
  if (($? != 1)) || ! grep -q 'the launcher `false` ended with status 1, and started no process' err; then
    wrong 'silent'
  else
    passed=$((passed + 1))
  fi
  name='a launcher that succeeds and starts nothing is named'
  "$shunt" run histogram --transport mpi --launcher true >out 2>err
  if (($? != 0)) || ! grep -q 'the launcher `true` ended with status 0, and started no process' err; then
    wrong 'silent'
  else
    passed=$((passed + 1))
  fi

  name='SIGINT to shunt alone ends its launcher'
  mkfifo ready
  printf '#!/bin/sh\ntrap "exit 130" INT\necho ready >ready\nwhile :; do sleep 0.1; done\n' >slow
  chmod +x slow
  set -m  # or this shell would have the command ignore SIGINT
  timeout 600 "$shunt" run histogram --transport mpi --launcher ./slow >out 2>err &
  pid=$!
  read -r _ <ready
  child=$(pgrep -P "$pid")
  # The launcher may be ready before the command passes signals on.
  while kill -0 "$child" 2>/dev/null && ! catches "$child" "$SIGINT"; do sleep 0.01; done
  kill -INT "$child"
  wait "$pid"
  status 130 "$name"
  set +m

  mkfifo parts
  bad '^shunt run triangle: --graph parts: each process of the job would read a part' \
    "$shunt" run triangle --transport mpi --ranks 2 --pes 2 --graph parts
fi

if [[ -n $mpis ]]; then
  # Said once, before any process is started.
  bad '--ranks' "$shunt" run histogram --transport mpi --ranks 0
  bad 'banana' "$shunt" run histogram --transport mpi --pes banana
  bad '--no-such-option' "$shunt" run histogram --transport mpi --no-such-option
  good '^pes +4 on 2 processes' "$shunt" run histogram --transport mpi --ranks 2 --pes 4 --updates 1000
  good '^errors +none' "$shunt" run random_access --transport mpi --ranks 2 --pes 4 --scale 12 --form class
  good '^checked +a serial count found' "$shunt" run kmers --transport mpi --ranks 2 --pes 4 --bases 3000 --check
  good '^checked +a serial join made' \
    "$shunt" run join --transport mpi --ranks 2 --pes 4 --first 900 --second 900 --check
  good '^checked +a serial count found' "$shunt" run degrees --transport mpi --ranks 2 --pes 4 --scale 8 --check
  good '^checked +a serial count found' "$shunt" run word_count --transport mpi --ranks 2 --pes 4 --words 3000 --check
  for ranks in 2 3; do
    good "^pes +4 on $ranks processes" "$shunt" run daq --count-on pes --transport mpi --ranks $ranks --pes 4 \
      --channels 20 --frames 50 --garbled 3 --hung-up 2
  done
  name='daq: the same total over MPI as on the stations'
  facts='s/.*\("frames":.*\)"frames_left_out.*\("samples":.*\)"frames_per_second.*/\1\2/p'
  "$shunt" run daq --channels 20 --frames 50 --json | sed -n "$facts" >stations
  "$shunt" run daq --channels 20 --frames 50 --json --count-on pes --transport mpi --ranks 3 --pes 7 |
    sed -n "$facts" >pes
  if [[ -s pes ]] && cmp -s stations pes; then passed=$((passed + 1)); else wrong 'differs'; fi
  for form in lambda class natural; do
    for app in permute_matrix random_permutation topological_sort transpose; do
      # shellcheck disable=SC2086
      good '^checked +a serial' \
        "$shunt" run $app --transport mpi --ranks 2 --pes 4 --form $form --check ${small[$app]} --output "mpi.$app"
      # shellcheck disable=SC2086
      "$shunt" run $app --pes 3 --form $form ${small[$app]} --output "threads.$app" >/dev/null
      name="$app: the same over MPI as on threads, in the $form form"
      # Rows of one level have no order, so a topological sort depends on the PEs.
      if [[ $app == topological_sort ]] || cmp -s "mpi.$app" "threads.$app"; then passed=$((passed + 1))
      else wrong 'differs'; fi
    done
  done
  for app in bfs sssp components pagerank jaccard kcore; do
    check=--check
    if [[ $app == bfs ]]; then check=''; fi  # it always validates
    # shellcheck disable=SC2086
    good '^checked +(3 trees|distances|a serial|peeling)' \
      "$shunt" run $app --transport mpi --ranks 2 --pes 4 $check ${small[$app]}
  done
  # shellcheck disable=SC2086
  for app in pagerank jaccard; do
    name="$app: the same over MPI as on threads"
    if diff <("$shunt" run $app --transport mpi --ranks 2 --pes 4 ${small[$app]} | grep ^fingerprint) \
      <("$shunt" run $app --pes 3 ${small[$app]} | grep ^fingerprint) >/dev/null; then passed=$((passed + 1))
    else wrong 'differs'; fi
  done
  bad 'no-such-graph' "$shunt" run triangle --transport mpi --pes 2 --graph no-such-graph.txt
  bad 'no-such-launcher' "$shunt" run histogram --transport mpi --launcher no-such-launcher
fi

if "$shunt" doctor | grep '^transports .*shmem' >/dev/null; then
  bad '--ranks' "$shunt" run histogram --transport shmem --ranks 0
  good '^pes +4 on 2 processes' "$shunt" run histogram --transport shmem --ranks 2 --pes 4 --updates 1000
  good '^checked +a serial count found' \
    env SHUNT_SHARED_MEMORY=0 "$shunt" run kmers --transport shmem --ranks 2 --pes 4 --bases 3000 --check
  bad 'no-such-launcher' "$shunt" run histogram --transport shmem --launcher no-such-launcher
else
  bad 'transport .shmem. was not built' "$shunt" run histogram --transport shmem --ranks 2
fi

# asked RANKS COMMAND...: gets SIGUSR1, which is a question, while it runs, and ends as if it had not. A launcher passes
# the signal on, also to a rank that cannot catch it yet; so to a job of RANKS processes it is sent when all of them do.
# A command without ranks prints into a pipe that is full, so it does not end before it was asked.
mkfifo full
asked() {
  local ranks=$1 pid status others process i full end to=out capacity=65536
  shift
  name="SIGUSR1: ${*/#$shunt/shunt}"
  if ((ranks == 0)); then
    to=full
    exec {full}<>full
    head -c "$capacity" /dev/zero >&"$full"
  fi
  "$@" >"$to" 2>err </dev/null &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    others=0
    if ((ranks > 0)); then
      for process in /proc/[0-9]*; do
        # Other tests may run the program at the same time, in other folders.
        if [[ $process != "/proc/$pid" && $process/exe -ef $shunt && $process/cwd -ef . ]] &&
          catches "${process#/proc/}" "$SIGUSR1"; then
          others=$((others + 1))
        fi
      done
    fi
    # Until it is the program it is this shell, which catches the signal for its trap.
    if ((others >= ranks)) && [[ /proc/$pid/exe -ef $shunt ]] && catches "$pid" "$SIGUSR1"; then break; fi
    sleep 0.01
  done
  for ((i = 0; i < 3; ++i)); do
    kill -USR1 "$pid" 2>/dev/null || break
    sleep 0.02
  done
  if ((ranks == 0)); then
    head -c "$capacity" <&"$full" >/dev/null
    while kill -USR1 "$pid" 2>/dev/null; do sleep 0.02; done
  fi
  wait "$pid"
  status=$?
  if ((ranks == 0)); then
    exec {end}<full {full}<&-
    cat <&"$end" >out
    exec {end}<&-
  fi
  if ((status != 0)); then wrong "status $status, expected 0"
  elif ! grep -Eq '^checked' out; then wrong 'does not say: checked'
  elif ! grep -Eq 'got SIGUSR1|runtime of' err; then wrong 'does not answer'
  else passed=$((passed + 1)); fi
}
asked 0 "$shunt" run histogram --updates 3000000 --pes 2
asked 0 "$shunt" run triangle --scale 15 --pes 2
asked 0 "$shunt" run daq --channels 20 --frames 2000
if [[ -n $mpis ]]; then
  asked 2 "$shunt" run histogram --updates 50000000 --transport mpi --ranks 2 --pes 2
fi

name='doctor --json is JSON'
"$shunt" doctor --json >out 2>err
if command -v python3 >/dev/null && ! python3 -c 'import json; json.load(open("out"))["cpu"]["workers"]' 2>>err; then
  wrong 'does not parse'
else
  passed=$((passed + 1))
fi

name='output that cannot be written is an error'
"$shunt" apps >/dev/full 2>err
if (($? != 1)); then wrong 'status is not 1'; else passed=$((passed + 1)); fi

# The script, as far as it needs no build.
good '^shunt [0-9]' "$script" --version
good 'bench TABLE' "$script" --help
for sub in run apps simulate calibrate bench doctor translate test setup; do
  good '^usage: shunt' "$script" help "$sub"
  good '^usage: shunt' "$script" "$sub" --help
done
# One copy of each help text; and two of the edit distance, which agree (the script answers before anything is built).
for sub in run apps simulate calibrate doctor; do
  name="help of $sub: the program's and the script's"
  if cmp -s <("$shunt" "$sub" --help) <("$script" "$sub" --help); then
    passed=$((passed + 1))
  else
    wrong 'they differ'
  fi
done
eval "$(sed -n '/^say()/p; /^die()/p; /^distance()/,/^}/p; /^unknown()/,/^}/p' "$script")"
known=$("$shunt" apps | cut -d' ' -f1)
for word in h hist histogrm hstogarm triangel tringle angle dak da aq index-gather gather indexgather q xyzzy daqdaq; do
  name="near names of $word: the program's and the script's"
  "$shunt" run "$word" >out 2>err
  # shellcheck disable=SC2086  # names are words
  if [[ $(cat err) == "$( (unknown application "$word" $known) 2>&1)" ]]; then
    passed=$((passed + 1))
  else
    wrong 'they differ'
  fi
done
bad 'unknown command .bensh.; near: bench' "$script" bensh
bad 'unknown table .histogramm.; near: histogram' "$script" bench histogramm
bad 'which table' "$script" bench
bad 'which application' "$script" run

echo "$passed passed, $failed failed"
((failed == 0))
