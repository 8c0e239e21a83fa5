"""Small result files of every edition, written by hand in the shapes of the published ones."""

RESULTS_2022 = """\
ASV-toy_dev_enrolls-toy_dev_trials_f
  EER: 18%
  Cllr (min/act): 0.304/42.857
  ROCCH-EER: 17.600%
  linkability: 0.661233
  Population: 0.375 bit
  Individual: 3.452 (C)
ASV-toy_dev_enrolls_anon-toy_dev_trials_f_anon
  EER: 12.5%
  Cllr (min/act): 0.996/inf
  ROCCH-EER: 8.584%
  linkability: 0.000000
  Population: 2e-05 bit
  Individual: 0 (0)
ASR-toy_dev_asr
  %WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] exp/models/asr_eval/decode_toy_dev_asr_tgsmall/wer_12_0.5
  %WER 3.83 [ 1522 / 39783, 187 ins, 139 del, 1196 sub ] exp/models/asr_eval/decode_toy_dev_asr_tglarge/wer_13_0.0
ASR-toy_dev_asr_anon
  %WER 4.00 [ 1 / 25, 0 ins, 0 del, 1 sub ] exp/models/user_asr_eval_anon/decode_toy_dev_asr_anon_tglarge/wer_7_0.0
toy_dev_trials_f  Pitch_correlation: mean=0.8244 std=0.0817
toy_dev_trials_m  Pitch_correlation: mean=-0.0100 std=0.5000
toy_dev_trials_f
  De-Identification : 0.9991788001480236
  Gain of voice distinctiveness : -5.85846561096138
"""

# The averages by hand: EER anon (10 + 20)/2·0.5 + (4·(30 + 50) + (10 + 20))/10·0.5 = 7.5 + 17.5 = 25.
SUMMARY_2022 = """\
ASV-libri_dev_enrolls-libri_dev_trials_f  EER: 8%
ASV-libri_dev_enrolls-libri_dev_trials_m  EER: 1.242%
ASV-libri_dev_enrolls_anon-libri_dev_trials_f_anon  EER: 10%
ASV-libri_dev_enrolls_anon-libri_dev_trials_m_anon  EER: 20%
ASV-vctk_dev_enrolls_anon-vctk_dev_trials_f_anon  EER: 30%
ASV-vctk_dev_enrolls_anon-vctk_dev_trials_f_common_anon  EER: 10%
ASV-vctk_dev_enrolls_anon-vctk_dev_trials_m_anon  EER: 50%
ASV-vctk_dev_enrolls_anon-vctk_dev_trials_m_common_anon  EER: 20%
ASR-libri_dev_asr  %WER 4.00 [ 1 / 25, 0 ins, 0 del, 1 sub ] exp/models/asr_eval/decode_tglarge/wer_13_0.0
ASR-libri_dev_asr_anon  %WER 4.32 [ 1719 / 39783, 205 ins, 150 del, 1364 sub ] exp/models/user_asr_eval_anon/x_tglarge/a
ASR-vctk_dev_asr_anon  %WER 11.76 [ 10186 / 86627, 1273 ins, 1205 del, 7708 sub ] exp/models/user_asr_eval_anon/x_tglarge/b
libri_dev_trials_f  Pitch_correlation: mean=0.6374 std=0.1711
libri_dev_trials_m  Pitch_correlation: mean=0.5291 std=0.2042
libri_dev_trials_f  Gain of voice distinctiveness : -1.5
libri_dev_trials_m  Gain of voice distinctiveness : -2.25
Weighted average EER dev orig: 4.621
Weighted average EER dev anon: 25.000
Average WER dev orig: 4.000
Average WER dev anon: 8.040
Weighted average pitch correlation dev: 0.583
Weighted average gain of voice distinctiveness dev: -1.875
"""

RANK_2024 = """\
---- Time: 29-03-24_10:45 ----

---- SER results ----
   dataset split       ser      UAR  ACC_sad  ACC_neu
                               mean     mean     mean
0  EMOTION   dev      anon  55.6146  32.9580  57.9720
1  EMOTION   dev  original  69.0796  63.6292  65.9652
2  EMOTION  test      anon  53.4914   2.7760  66.2338
3  EMOTION  test  original  71.0618  72.5706  71.6618

---- ASV_eval results ----
  dataset split gender enrollment     trial     EER
0     toy   dev      f   original  original  10.511
3     toy   dev      m   original  original   0.931
6     toy  test      f   original  original   8.761
9     toy  test      m   original  original   0.418

---- ASR results ----
  dataset split       asr     WER
0     toy   dev  original   1.807
4     toy   dev      anon  10.442
1     toy  test  original   1.844
5     toy  test      anon   9.954

---- Time: 28-03-24_21:23 ----

---- ASV_eval^anon results ----
   dataset split gender enrollment trial     EER
2      toy   dev      f       anon  anon  12.910
5      toy   dev      m       anon  anon   2.045
8      toy  test      f       anon  anon   7.483
11     toy  test      m       anon  anon   1.557
"""

# Without times, with two blank lines, trailing blanks and a row whose blanks were changed by hand.
UNTIDY_2024 = """\
---- ASV_eval results ----
   dataset split gender enrollment trial     EER
2    toy   dev  mixed       anon  anon  11.423
5   toy  test  mixed       anon  anon   7.220


---- ASV_eval^anon results ----
   dataset split gender enrollment trial     EER  \n\
2    toy   dev  mixed       anon  anon   6.973  \n\
5   toy  test  mixed       anon  anon   4.713
"""

TRACK2_2026 = """\
---- Time: 13-06-26_05:45 ----

---- SER results ----
   dataset split       ser     UAR ACC_hap ACC_sad
                              mean    mean    mean
0  emodata   dev      anon  41.299  41.463  75.090
1  emodata   dev  original  71.988  75.610  82.310

---- ASV_eval results ----
  dataset split gender enrollment trial    EER
8      de   dev  mixed       anon  anon  8.309
2      en   dev  mixed       anon  anon  2.758
5      en  test  mixed       anon  anon  5.259

---- ASR results ----
  dataset split       asr     WER
2      de   dev  original   5.246
5      de   dev      anon  17.807
0      en   dev  original   4.574
3      en   dev      anon   7.397
1      en  test  original   5.455
4      en  test      anon   8.538

---- Time: 06-06-26_05:22 ----

---- ASV_eval^anon results ----
dataset split gender enrollment trial   EER
     en   dev  mixed       anon  anon 1.398
     en  test  mixed       anon  anon 3.734

---- Time: 06-06-26_12:31 ----

---- ASV_eval^anon results ----
dataset split gender enrollment trial    EER
     de   dev  mixed       anon  anon 11.431

"""
