/* The table of verbs: a new one is a line here. */
#include "src/cmd/cmd.h"

/* clang-format off */
const struct mf_cmd *const mf_cmds[] = {
    &mf_cmd_bench,
    &mf_cmd_characterize,
    &mf_cmd_compare,
    &mf_cmd_data_export,
    &mf_cmd_data_import,
    &mf_cmd_data_info,
    &mf_cmd_data_split,
    &mf_cmd_data_verify,
    &mf_cmd_doctor,
    &mf_cmd_eval,
    &mf_cmd_infer_classify,
    &mf_cmd_infer_regress,
    &mf_cmd_info,
    &mf_cmd_interpolate,
    &mf_cmd_launch,
    &mf_cmd_match,
    &mf_cmd_merge,
    &mf_cmd_plan_match,
    &mf_cmd_plan_reconstruct,
    &mf_cmd_plan_train,
    &mf_cmd_probe,
    &mf_cmd_reconstruct,
    &mf_cmd_report,
    &mf_cmd_smooth,
    &mf_cmd_synth,
    &mf_cmd_train_classify,
    &mf_cmd_train_regress,
    &mf_cmd_train_moe,
    &mf_cmd_verify,
    &mf_cmd_view,
    NULL,
};
/* clang-format on */
