/* See train_opts.h. These are the keys of the guide to multi-GPU training; docs/FROM-VQA.md says what each means here.
 * Its planner replaces what the file says about passes, readers, ZeRO and memory. So these keys are wishes. */
#include "src/cmd/learn/train_opts.h"

#define SET(key, option)     \
    {                        \
        key, option, NULL, 0 \
    }
#define MAP(key, option, values) \
    {                            \
        key, option, values, 0   \
    }
#define WISH(key, option, values) \
    {                             \
        key, option, values, 1    \
    }
#define FIXED(key, value)       \
    {                           \
        key, NULL, value "=", 0 \
    } /* the only value that this program has */
#define IDLE(key)          \
    {                      \
        key, NULL, NULL, 0 \
    }

/* Networks of timm by these names. */
#define CONVNEXT(width, deep) "vqa:image=convnext,patch=4,depth=4,blocks=3,width=" width ",deep=" deep

const struct mf_opt_key mf_train_keys[] = {
    MAP("model.visual_backbone", "arch",
        "convnext_base=" CONVNEXT("128", "27") "|convnext_small=" CONVNEXT("96", "27") "|convnext_tiny=" CONVNEXT(
            "96", "9") "|cnn="),
    MAP("model.text_encoder", "text-depth", "emilyalsentzer/Bio_ClinicalBERT=12|bert-base-uncased=12"),
    IDLE("model.visual_feature_dim"),
    IDLE("model.scene_graph_dim"),
    IDLE("model.visual_embedding_dim"),
    SET("model.hidden_size", "text-width"),
    IDLE("model.intermediate_size"),
    IDLE("model.num_hidden_layers"),
    SET("model.num_attention_heads", "heads"),
    SET("model.hidden_dropout_prob", "dropout"),
    IDLE("model.attention_probs_dropout_prob"),
    FIXED("model.sim_layers", "2"),
    IDLE("model.num_regions"),
    IDLE("model.num_entities"),
    IDLE("model.region_embedding_dim"),
    IDLE("model.entity_embedding_dim"),
    IDLE("model.num_binary_classes"),
    IDLE("model.num_category_classes"),
    IDLE("model.num_region_classes"),
    IDLE("model.num_severity_classes"),
    SET("model.max_question_length", "max-tokens"),
    IDLE("model.vocab_size"),
    SET("training.output_dir", "results-dir"),
    WISH("training.batch_size_per_gpu", "batch-size", NULL),
    WISH("training.gradient_accumulation_steps", "accumulation-steps", NULL),
    SET("training.learning_rate", "learning-rate"),
    SET("training.weight_decay", "weight-decay"),
    SET("training.warmup_ratio", "warmup-ratio"),
    MAP("training.lr_scheduler_type", "schedule", "cosine=cosine|linear=warmup-decay|constant_with_warmup=constant"),
    SET("training.max_grad_norm", "clip"),
    SET("training.num_epochs", "epochs"),
    MAP("training.fp16", "precision-type", "true=fp16|false="),
    MAP("training.bf16", "precision-type", "true=bf16|false="),
    WISH("training.gradient_checkpointing", "recompute", "true=blocks|false=none"),
    SET("training.seed", "seed"),
    SET("training.max_samples_per_split", "max-samples"),
    SET("training.early_stopping_patience", "patience"),
    SET("training.save_total_limit", "keep-last"),
    FIXED("training.greater_is_better", "true"),
    WISH("training.dataloader_num_workers", "num-workers", NULL),
    IDLE("training.dataloader_pin_memory"),
    IDLE("training.dataloader_prefetch_factor"),
    IDLE("training.dataloader_persistent_workers"),
    IDLE("training.logging_steps"),
    IDLE("training.eval_steps"),
    IDLE("training.save_steps"),
    MAP("training.metric_for_best_model", "merit", "accuracy=|overall_accuracy=|binary_accuracy=yes_no"),
    MAP("training.vqa_loss_weight", NULL, "1=|1.0="),
    SET("training.chexpert_loss_weight", "findings-weight"),
    IDLE("training.binary_head_weight"),
    IDLE("training.category_head_weight"),
    IDLE("training.region_head_weight"),
    IDLE("training.severity_head_weight"),
    SET("training.phase", "phase"),
    IDLE("training.hub_model_id"),
    IDLE("training.hub_private_repo"),
    IDLE("training.push_to_hub_strategy"),
    SET("data.path", "data"),
    IDLE("data.mimic_cxr_jpg_path"),
    IDLE("data.mimic_ext_cxr_qba_path"),
    IDLE("data.chexpert_labels_path"),
    IDLE("data.test_labels_csv_path"),
    IDLE("data.quality_grade"),
    IDLE("data.view_filter"),
    IDLE("data.question_types"),
    IDLE("data.use_exports"),
    IDLE("data.export_grade"),
    IDLE("data.cache_dir"),
    IDLE("data.image_size"),
    IDLE("data.normalize_mean"),
    IDLE("data.normalize_std"),
    MAP("wandb.enabled", "no-events", "true=|false=true"),
    IDLE("wandb.project"),
    IDLE("wandb.entity"),
    IDLE("wandb.name"),
    IDLE("wandb.group"),
    IDLE("wandb.tags"),
    IDLE("wandb.notes"),
    IDLE("wandb.watch_model"),
    IDLE("wandb.watch_log_freq"),
    IDLE("wandb.log_model"),
    WISH("deepspeed.enabled", "zero", "true=2|false="),
    WISH("deepspeed.stage", "zero", NULL),
    WISH("deepspeed.offload_optimizer", "offload", "true=optimizer|cpu=optimizer|false=none|none=none"),
    WISH("deepspeed.offload_optimizer.device", "offload", "cpu=optimizer|none=none"),
    IDLE("deepspeed.offload_optimizer.pin_memory"),
    IDLE("deepspeed.config_path"),
    MAP("hardware_optimization.auto_optimize", "plan", "true=auto|false=off"),
    IDLE("hardware_optimization.model_memory_footprint_gb"),
    IDLE("hardware_optimization.min_batch_size_per_gpu"),
    IDLE("hardware_optimization.max_grad_accum_steps"),
    {NULL, NULL, NULL, 0},
};
