#!/usr/bin/env bash
# Evaluate a voice anonymiser: ./run.sh runs all stages; ./run.sh --help lists the options.
# shellcheck disable=SC2034  # the options are read by run_stages, by their names
set -euo pipefail

stage=0
stop_stage=12
recipe=mini               # a directory in egs/
corpus=                   # directory of the corpus; default: egs/<recipe>/corpus
lists=                    # official lists of enrolments and trials; without them such recipes rebuild the protocol
full=false                # true: all trials of the embedded corpus; false: a balanced subset
data=data                 # directory of the sets; those of recipes that differ need one each, such as data_vpc2026
anonymizer=mcadams        # a hook script, or the name of a directory in local/anon
anonymized=               # directory of anonymised files to evaluate instead of running a hook
allow_missing=false       # true: leave out and count trials whose anonymised files are missing
anon_options=             # options for the hook, as one string
anon_nj=                  # jobs of the hook at a time, such as 1 for a model that fills the GPU; default: nj
overwrite=false           # true: replace data of this system that another hook, or other options, made
anon_level=               # spk: one pseudo-speaker per speaker; utt: one per utterance; default: that of the recipe
train_level=              # the same for the training sets of attackers; utt makes stronger attackers
system=                   # name of the results; default: from the hook
attackers=                # attackers to add, conf/asv/<name>.yaml, the main one first; default: those of the recipe
without=                  # attackers to leave out, also of those that attacked this system before
allow_scratch=false       # true: without the pretrained encoder, train a small one on the recipe's training data
calibrate=false           # true: scores become log-likelihood ratios by logistic regression on the dev sets
asr=                      # recogniser, conf/asr/<name>.yaml; default: that of the recipe
train_asr=false           # true: also train recognisers on original and on anonymised speech
quality=false             # true: also DNSMOS and STOI
srd_sets=                 # sets of similarity rank disclosure: dev, test or all; default: those of the recipe
srd_inputs=               # utterances of a speaker that are inputs there; default: that of the recipe
srd_unit=                 # inputs of F0 and phone units: paper (30 s, 20 segments) or utterance; default: that of the recipe
population=0              # speakers of the use case: legal metrics among so many, extrapolated if the corpus has fewer
utterances=0              # utterances per test of the use case: legal metrics also with so many
edition=                  # challenge whose result file and submission are made; default: that of the recipe
published=                # editions whose published baselines stand in the comparison: 2020, 2022, 2024, 2026
role=primary              # of the submission: primary, or contrastive for further systems of a participant (up to four)
description=              # file with the system description, for the submission; default: a form to fill in
nj=$(getconf _NPROCESSORS_ONLN)
seed=0
bootstrap=                # resamples of all intervals; 0: no intervals; default: that of the scorers
dry_run=false             # true: only print what would be made, and why
why=${VPEVAL_WHY:-false}         # true: list everything that has changed for each result that is made again
doctor=false              # true: only check what the run needs and whether it is there
verify=${VPEVAL_VERIFY:-false}  # true: read every file again before anything counts as up to date
accept_code=${VPEVAL_ACCEPT_CODE:-false}  # true: keep results of older code, and note that in the results
verbose=${VPEVAL_VERBOSE:-false}  # true: print the commands that do by hand what the stages do

help_message="Usage: ./run.sh [options]
 e.g.: ./run.sh                                        # embedded corpus, McAdams baseline, everything
       ./run.sh --stage 3 --anonymizer my/hook.py      # your own anonymiser, from stage 3 on

Stages: 0 data, 1 evaluation models, 2 anonymiser preparation, 3 anonymise, 4 attackers, 5 embeddings, 6 verification,
7 voice similarity, 8 legal metrics, 9 similarity rank disclosure, 10 utility, 11 results, 12 submission.
Results that are up to date are skipped.

  --stage N  --stop-stage N     first and last stage ($stage, $stop_stage)
  --recipe NAME                 directory in egs/ ($recipe)
  --corpus DIR                  directory of the corpus (egs/<recipe>/corpus)
  --lists DIR                   official lists of enrolments and trials, for recipes of challenges
  --full true|false             all trials, or a balanced subset ($full)
  --data DIR                    directory of the sets, data…; results of data_x are in exp_x ($data)
  --anonymizer HOOK             hook script, or a name in local/anon ($anonymizer)
  --anon-options 'STRING'       options for the hook
  --anon-nj N                   jobs of the hook at a time (as --nj)
  --overwrite true|false        replace data of this system that another hook, or other options, made ($overwrite)
  --anonymized DIR              DIR/<set>/<utt>.wav or .flac, or one directory of files: used instead of a hook
  --allow-missing true|false    leave out trials whose files are missing there ($allow_missing)
  --anon-level spk|utt          pseudo-speaker per speaker or per utterance (that of the recipe, else spk)
  --train-level spk|utt         the same for training sets; utt makes stronger attackers (that of the recipe, else utt)
  --system NAME                 name for the results (from the hook)
  --attackers 'LIST'            configurations in conf/asv, the main one first (those of the recipe); attackers that
                                attacked this system before take part again
  --without 'LIST'              attackers to leave out; all results say so
  --allow-scratch true|false    train a small encoder if the pretrained one cannot be downloaded ($allow_scratch)
  --calibrate true|false        calibrate verification scores on the dev sets, so that Cllr means something ($calibrate)
  --asr NAME                    configuration in conf/asr (that of the recipe, else whisper_base)
  --train-asr true|false        also train recognisers on original and on anonymised speech ($train_asr)
  --quality true|false          also DNSMOS and STOI ($quality)
  --srd-sets test|dev|all       sets of similarity rank disclosure (those of the recipe, else all)
  --srd-inputs N                utterances of a speaker that are inputs there (that of the recipe, else 20)
  --srd-unit paper|utterance    inputs of F0 and units: 30 s and 20 segments, or utterances (that of the recipe)
  --population N                legal metrics among N speakers, extrapolated if the corpus has fewer
  --utterances L                legal metrics also with L utterances per test
  --edition YEAR                challenge formats: 2020, 2022, 2024 or 2026 (that of the recipe, else 2020)
  --published 'LIST'            published baselines in the comparison: 2020, 2022, 2024, 2026 (none)
  --role primary|contrastive    of the submission: one system is primary, up to four others contrastive ($role)
  --description FILE            system description for the submission package (a form to fill in)
  --nj N                        jobs at a time ($nj)
  --seed N                      seed of all random numbers ($seed); other seeds have results of their own: <system>_seed<N>
  --bootstrap N                 resamples of all intervals; 0: no intervals (as the scorers)
  --dry-run                     print what would be made, and why, and make nothing
  --why                         list all changed inputs, options and modules of each result that is made again
  --doctor                      check what the run needs: time, disk, memory, models, network
  --verify true|false           read every audio file again before a large set counts as up to date ($verify)
  --accept-code true|false      keep results where only the code has changed, and note that in them ($accept_code)
  --verbose                     print the commands that do by hand what the stages do"

export VPEVAL_FROM=$PWD    # paths of hooks are looked up from there
cd "$(dirname "${BASH_SOURCE[0]}")"
_flags="doctor dry_run why verbose"
. utils/parse_options.sh
[ $# = 0 ] || { echo "$0: unexpected argument '$1'; see --help" >&2; exit 1; }
. utils/stages.sh
. ./cmd.sh
export VPEVAL_VERIFY=$verify VPEVAL_WHY=$why VPEVAL_ACCEPT_CODE=$accept_code VPEVAL_VERBOSE=$verbose

stage 0 data "data directories of recipe $recipe"
stage 1 models "evaluation models"
stage 2 preparation "preparation of the anonymiser"
stage 3 anonymisation "anonymise evaluation and training sets"
stage 4 attackers "train the attackers"
stage 5 embeddings "speaker embeddings"
stage 6 verification "verification: EER, Cllr, D_sys, ZEBRA; audit of the attackers"
stage 7 similarity "voice similarity: G_VD, DeID"
stage 8 legal "legal metrics: linkability, singling out, inference"
stage 9 disclosure "similarity rank disclosure"
stage 10 utility "utility: word error rate, pitch correlation"
stage 11 results "results: table, files of the challenge, LaTeX, figures, report"
stage 12 submission "submission package"

run_stages recipe corpus lists full data anonymizer anonymized allow_missing anon_options anon_nj overwrite anon_level train_level system attackers without allow_scratch calibrate asr \
  train_asr quality srd_sets srd_inputs srd_unit population utterances edition published description role nj seed bootstrap cmd doctor dry_run
