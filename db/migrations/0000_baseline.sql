CREATE TABLE "approval_decisions" (
	"approval_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"decision" text NOT NULL,
	"credential_id" "bytea" NOT NULL,
	"client_data_json" "bytea" NOT NULL,
	"authenticator_data" "bytea" NOT NULL,
	"signature" "bytea" NOT NULL,
	"decided_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "approval_decisions_approval_id_user_id_pk" PRIMARY KEY("approval_id","user_id"),
	CONSTRAINT "approval_decisions_decision" CHECK ("decision" = any ('{approve,reject}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "approvals" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"wallet_id" uuid NOT NULL,
	"policy_id" uuid NOT NULL,
	"asked_by" text NOT NULL,
	"request" text NOT NULL,
	"required" smallint NOT NULL,
	"approver_ids" uuid[] NOT NULL,
	"expires_at" timestamp (6) with time zone NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"rejected_at" timestamp (6) with time zone,
	"used_at" timestamp (6) with time zone,
	"expired_at" timestamp (6) with time zone,
	CONSTRAINT "approvals_required" CHECK ("approvals"."required" >= 1)
);
--> statement-breakpoint
CREATE TABLE "audit" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" uuid,
	"at" timestamp (6) with time zone NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"subject" text NOT NULL,
	"details" jsonb NOT NULL,
	"mac" "bytea" NOT NULL,
	CONSTRAINT "audit_action" CHECK ("action" = any ('{project_created,project_activated,developer_secret_changed,wallet_created,wallet_imported,wallet_exported,control_shared,put_under_policies,released_from_policies,user_pin_changed,user_secret_added,user_secret_removed,owner_unlocked,transaction_signed,transaction_submitted,transaction_signed_anew,message_signed,authorization_signed,delegates_changed,frozen,unfrozen,root_key_rotated,project_key_rotated,policy_created,policy_revoked,vault_connection_refused,wrong_pin,owner_locked,locked_owner_tried,guess_count_forged,policy_forged,wallet_forged,delegates_forged,write_undone,freezes_forged,wrong_pins_spent,wrong_user_secret,user_secret_forged,wrong_developer_secret,wrong_secrets_spent,catalogue_changed,api_key_created,api_key_revoked,transaction_retried,transaction_cancelled,lost_transaction_settled,job_retried,abi_added,abi_removed,token_list_imported,token_list_removed,session_revoked,issuer_tokens_ended,passkey_added,passkey_removed,email_added,token_key_rotated,identity_key_rotated,service_key_rotated,origins_changed,return_addresses_changed,passkey_domain_changed,anonymous_login_changed,issuer_added,issuer_removed,user_created,approval_requested,approval_decided,operator_invited,operator_logged_in,operator_passkey_added,operator_removed,webhook_created,webhook_changed,webhook_secret_rotated,webhook_enabled,webhook_disabled,webhook_removed,webhook_replayed,bearer_malformed,api_key_unknown,access_token_forged,issuer_token_refused,session_mismatch,project_mismatch,login_failed,login_throttled,wrong_email_code,refresh_token_forged,refresh_token_reused,origin_refused,metrics_token_wrong,row_forged,final_blocks_lost,webhook_given_up}'::text[])),
	CONSTRAINT "audit_size" CHECK (octet_length("audit"."details"::text) <= 65536 and octet_length("audit"."actor") <= 8192 and octet_length("audit"."subject") <= 8192 and octet_length("audit"."mac") <= 64)
);
--> statement-breakpoint
CREATE TABLE "audit_chain" (
	"chain" text NOT NULL,
	"position" bigint NOT NULL,
	"audit_id" bigint NOT NULL,
	"head" "bytea" NOT NULL,
	"chained_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "audit_chain_chain_position_pk" PRIMARY KEY("chain","position"),
	CONSTRAINT "audit_chain_once" UNIQUE("audit_id")
);
--> statement-breakpoint
CREATE TABLE "audit_checkpoints" (
	"chain" text NOT NULL,
	"position" bigint NOT NULL,
	"from_position" bigint NOT NULL,
	"before" timestamp (6) with time zone NOT NULL,
	"head" "bytea" NOT NULL,
	"lines_hash" "bytea" NOT NULL,
	"kept_hash" "bytea" NOT NULL,
	"signature" "bytea" NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "audit_checkpoints_chain_position_pk" PRIMARY KEY("chain","position")
);
--> statement-breakpoint
CREATE TABLE "freeze_lists" (
	"id" uuid PRIMARY KEY NOT NULL,
	"freezes" jsonb NOT NULL,
	"version" integer NOT NULL,
	"mac" "bytea" NOT NULL,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "freeze_lists_freezes" CHECK (jsonb_typeof("freeze_lists"."freezes") = 'array')
);
--> statement-breakpoint
CREATE TABLE "backfills" (
	"network" text NOT NULL,
	"address" text NOT NULL,
	"key_made_at" timestamp (6) with time zone,
	"requested_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"begun_at" timestamp (6) with time zone,
	"from_block" bigint,
	"reached_block" bigint,
	"coins_reached_block" bigint,
	"traced_reached_block" bigint,
	"hindrance" text,
	"hindrance_reason" text,
	"hindered_at" timestamp (6) with time zone,
	"tries" integer DEFAULT 0 NOT NULL,
	"next_try_at" timestamp (6) with time zone,
	"done_at" timestamp (6) with time zone,
	CONSTRAINT "backfills_network_address_pk" PRIMARY KEY("network","address"),
	CONSTRAINT "backfills_begins_whole" CHECK (num_nonnulls(begun_at, from_block, reached_block) in (0, 3)),
	CONSTRAINT "backfills_hindrance" CHECK ("hindrance" = any ('{pruned,behind,refused,away}'::text[])),
	CONSTRAINT "backfills_hindered_whole" CHECK (num_nonnulls(hindrance, hindrance_reason, hindered_at, next_try_at) = case tries when 0 then 0 else 4 end)
);
--> statement-breakpoint
CREATE TABLE "cursors" (
	"network" text NOT NULL,
	"purpose" text NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" text NOT NULL,
	"base_fee_per_gas" numeric(78, 0),
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"resumed_at" timestamp (6) with time zone,
	"stepped_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "cursors_network_purpose_pk" PRIMARY KEY("network","purpose"),
	CONSTRAINT "cursors_purpose" CHECK ("purpose" = any ('{track,index}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "doubtful_contracts" (
	"network" text NOT NULL,
	"contract" text NOT NULL,
	"from_block" bigint NOT NULL,
	"to_block" bigint NOT NULL,
	"tries" integer DEFAULT 0 NOT NULL,
	"next_try_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "doubtful_contracts_network_contract_pk" PRIMARY KEY("network","contract")
);
--> statement-breakpoint
CREATE TABLE "followed_networks" (
	"network" text PRIMARY KEY NOT NULL,
	"confirmations" integer NOT NULL,
	"climb_after_seconds" integer NOT NULL,
	"expire_after_seconds" integer NOT NULL,
	"stalled_after_seconds" integer NOT NULL,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "heads" (
	"network" text NOT NULL,
	"at" timestamp (6) with time zone NOT NULL,
	"head" bigint,
	"tracked" bigint,
	"indexed" bigint,
	CONSTRAINT "heads_network_at_pk" PRIMARY KEY("network","at")
);
--> statement-breakpoint
CREATE TABLE "holdings" (
	"network" text NOT NULL,
	"address" text NOT NULL,
	"contract" text NOT NULL,
	"token_id" numeric(78, 0) NOT NULL,
	"amount" numeric NOT NULL,
	CONSTRAINT "holdings_network_address_contract_token_id_pk" PRIMARY KEY("network","address","contract","token_id"),
	CONSTRAINT "holdings_some" CHECK (amount <> 0)
);
--> statement-breakpoint
CREATE TABLE "movements" (
	"id" uuid PRIMARY KEY NOT NULL,
	"network" text NOT NULL,
	"address" text NOT NULL,
	"direction" text NOT NULL,
	"counterparty" text NOT NULL,
	"standard" text NOT NULL,
	"contract" text,
	"token_id" numeric(78, 0),
	"amount" numeric(78, 0) NOT NULL,
	"block_number" bigint NOT NULL,
	"transaction_hash" text NOT NULL,
	"log_index" integer NOT NULL,
	"item_index" integer NOT NULL,
	"at" timestamp (6) with time zone NOT NULL,
	"initiated_by" text,
	"of_wallet" boolean DEFAULT true NOT NULL,
	CONSTRAINT "movements_direction" CHECK (direction in ('in', 'out')),
	CONSTRAINT "movements_standard" CHECK ("standard" = any ('{native,erc20,erc721,erc1155,other}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "seen_blocks" (
	"network" text NOT NULL,
	"purpose" text NOT NULL,
	"number" bigint NOT NULL,
	"hash" text NOT NULL,
	CONSTRAINT "seen_blocks_network_purpose_number_pk" PRIMARY KEY("network","purpose","number")
);
--> statement-breakpoint
CREATE TABLE "abi_items" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "abi_items_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"abi_name" text NOT NULL,
	"network" text,
	"address" text,
	"kind" text NOT NULL,
	"selector" text NOT NULL,
	"signature" text NOT NULL,
	"item" jsonb NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"mac" "bytea" NOT NULL,
	CONSTRAINT "abi_items_once" UNIQUE("abi_name","kind","signature"),
	CONSTRAINT "abi_items_kind" CHECK ("kind" = any ('{function,error}'::text[])),
	CONSTRAINT "abi_items_bound" CHECK (("abi_items"."network" is null) = ("abi_items"."address" is null)),
	CONSTRAINT "abi_items_selector_form" CHECK ("abi_items"."selector" ~ '^0x[0-9a-f]{8}$')
);
--> statement-breakpoint
CREATE TABLE "collections" (
	"transaction_id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"network" text NOT NULL,
	"owner_address" text NOT NULL,
	"name" text NOT NULL,
	"symbol" text NOT NULL,
	"image_url" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "contract_facts" (
	"network" text NOT NULL,
	"address" text NOT NULL,
	"standard" text NOT NULL,
	"name" text NOT NULL,
	"symbol" text NOT NULL,
	"decimals" smallint,
	"read_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"mac" "bytea",
	CONSTRAINT "contract_facts_network_address_pk" PRIMARY KEY("network","address"),
	CONSTRAINT "contract_facts_standard" CHECK ("standard" = any ('{native,erc20,erc721,erc1155,other}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "created_tokens" (
	"transaction_id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"logo_url" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "hosted_images" (
	"digest" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"body" "bytea" NOT NULL,
	"size_bytes" integer NOT NULL,
	"project_id" uuid NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "hosted_images_kind" CHECK ("kind" = any ('{png,jpg,gif,webp}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "listed_tokens" (
	"network" text NOT NULL,
	"address" text NOT NULL,
	"list_name" text NOT NULL,
	"name" text NOT NULL,
	"symbol" text NOT NULL,
	"logo_url" text NOT NULL,
	"display_decimals" smallint,
	"imported_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"mac" "bytea" NOT NULL,
	CONSTRAINT "listed_tokens_network_address_pk" PRIMARY KEY("network","address"),
	CONSTRAINT "listed_tokens_display_decimals" CHECK (display_decimals between 0 and 255)
);
--> statement-breakpoint
CREATE TABLE "metadata_documents" (
	"digest" text PRIMARY KEY NOT NULL,
	"body" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "token_uris" (
	"network" text NOT NULL,
	"contract" text NOT NULL,
	"token_id" numeric(78, 0) NOT NULL,
	"uri" text NOT NULL,
	"read_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "token_uris_network_contract_token_id_pk" PRIMARY KEY("network","contract","token_id")
);
--> statement-breakpoint
CREATE TABLE "delegate_lists" (
	"project_id" uuid PRIMARY KEY NOT NULL,
	"delegates" text[] NOT NULL,
	"version" integer NOT NULL,
	"mac" "bytea" NOT NULL,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "event_counters" (
	"project_id" uuid PRIMARY KEY NOT NULL,
	"last_number" bigint DEFAULT 0 NOT NULL,
	"dropped_number" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "event_counters_order" CHECK ("event_counters"."dropped_number" between 0 and "event_counters"."last_number")
);
--> statement-breakpoint
CREATE TABLE "events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" uuid NOT NULL,
	"number" bigint,
	"type" text NOT NULL,
	"version" smallint DEFAULT 1 NOT NULL,
	"data" jsonb NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "issuers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"name" text NOT NULL,
	"issuer" text NOT NULL,
	"audience" text NOT NULL,
	"audience_claim" text NOT NULL,
	"user_claim" text NOT NULL,
	"algorithms" text[] NOT NULL,
	"client_id" text,
	"sealed_secret" "bytea",
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"mac" "bytea" NOT NULL,
	CONSTRAINT "issuers_name" UNIQUE("project_id","name"),
	CONSTRAINT "issuers_algorithms" CHECK (cardinality("issuers"."algorithms") > 0),
	CONSTRAINT "issuers_secret" CHECK (sealed_secret is null or client_id is not null)
);
--> statement-breakpoint
CREATE TABLE "networks" (
	"name" text PRIMARY KEY NOT NULL,
	"family" text NOT NULL,
	"chain_id" bigint,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "networks_chain_id_unique" UNIQUE("chain_id"),
	CONSTRAINT "networks_family" CHECK ("family" = any ('{evm,substrate}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "operator_passkeys" (
	"credential_id" "bytea" PRIMARY KEY NOT NULL,
	"operator_name" text NOT NULL,
	"public_key" "bytea" NOT NULL,
	"sign_count" bigint NOT NULL,
	"backup_eligible" boolean NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (6) with time zone,
	"mac" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "operator_tokens" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"operator_name" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (6) with time zone NOT NULL,
	"mac" "bytea" NOT NULL,
	CONSTRAINT "operator_tokens_kind" CHECK ("kind" = any ('{link,session,challenge}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "operators" (
	"name" text PRIMARY KEY NOT NULL,
	"role" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"mac" "bytea" NOT NULL,
	CONSTRAINT "operators_role" CHECK ("role" = any ('{viewer,operator}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"project_id" uuid NOT NULL,
	"name" text NOT NULL,
	"hash" "bytea" NOT NULL,
	"scopes" text[] NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (6) with time zone,
	"last_used_at" timestamp (6) with time zone,
	"revoked_at" timestamp (6) with time zone,
	"mac" "bytea",
	CONSTRAINT "api_keys_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "deployment" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"environment" text NOT NULL,
	"root_key_id" text NOT NULL,
	"service_key_id" text,
	"identity_key_id" text,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "deployment_single" CHECK ("deployment"."id" = 1),
	CONSTRAINT "deployment_environment" CHECK ("environment" = any ('{testnet,mainnet}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"project_id" uuid NOT NULL,
	"principal" text NOT NULL,
	"path" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"answer" json NOT NULL,
	"mac" "bytea" NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "idempotency_keys_project_id_principal_path_key_pk" PRIMARY KEY("project_id","principal","path","key")
);
--> statement-breakpoint
CREATE TABLE "projects" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" text NOT NULL,
	"allowed_origins" text[] DEFAULT '{}' NOT NULL,
	"return_addresses" text[] DEFAULT '{}' NOT NULL,
	"passkey_rp_id" text,
	"anonymous_login" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"activated_at" timestamp (6) with time zone,
	"mac" "bytea"
);
--> statement-breakpoint
CREATE TABLE "retired_keys" (
	"key_id" text NOT NULL,
	"secret" text NOT NULL,
	"purpose" text NOT NULL,
	"sealed" "bytea",
	"last_audit_id" bigint NOT NULL,
	"retired_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "retired_keys_key_id_purpose_pk" PRIMARY KEY("key_id","purpose"),
	CONSTRAINT "retired_keys_secret" CHECK ("secret" = any ('{SERVICE_KEY,IDENTITY_KEY}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "ladders" (
	"transaction_id" uuid PRIMARY KEY NOT NULL,
	"network" text NOT NULL,
	"hashes" "bytea"[] NOT NULL,
	"hash_keys" bigint[] NOT NULL,
	"raws" "bytea"[],
	"max_fees_per_gas" numeric(78, 0)[],
	"accepted_at" timestamp (6) with time zone[] NOT NULL,
	"last_errors" text[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "lost_transactions" (
	"wallet_id" uuid NOT NULL,
	"hash" text NOT NULL,
	"call_text" text NOT NULL,
	"released_at" timestamp (6) with time zone,
	CONSTRAINT "lost_transactions_wallet_id_hash_pk" PRIMARY KEY("wallet_id","hash")
);
--> statement-breakpoint
CREATE TABLE "signers" (
	"network" text NOT NULL,
	"address" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"mined_count" bigint,
	"pending_count" bigint,
	"balance" numeric(78, 0),
	"heard_at" timestamp (6) with time zone,
	CONSTRAINT "signers_network_address_pk" PRIMARY KEY("network","address")
);
--> statement-breakpoint
CREATE TABLE "transactions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"wallet_id" uuid NOT NULL,
	"network" text NOT NULL,
	"signer_address" text NOT NULL,
	"contract_wallet" text,
	"kind" text NOT NULL,
	"nonce" bigint NOT NULL,
	"to" text,
	"value" numeric(78, 0) NOT NULL,
	"input" text NOT NULL,
	"gas_limit" numeric(78, 0) NOT NULL,
	"worst_cost" numeric(78, 0) NOT NULL,
	"fee_asset" text,
	"fee_asset_cost" numeric(78, 0),
	"status" text DEFAULT 'submitted' NOT NULL,
	"error_code" text,
	"error" text,
	"holds_nonce" boolean DEFAULT true NOT NULL,
	"final" boolean DEFAULT false NOT NULL,
	"born_at_block" bigint,
	"valid_until_block" bigint,
	"rungs" smallint NOT NULL,
	"has_fixed_fees" boolean DEFAULT false NOT NULL,
	"is_cut_by_funds" boolean DEFAULT false NOT NULL,
	"chosen" smallint DEFAULT 0 NOT NULL,
	"chosen_at" timestamp (6) with time zone,
	"given_up" text,
	"clock_started_at" timestamp (6) with time zone,
	"shown_hash" text,
	"mined_block_number" bigint,
	"mined_block_hash" text,
	"contract_address" text,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"broadcast_at" timestamp (6) with time zone,
	"settled_at" timestamp (6) with time zone,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"traceparent" text,
	CONSTRAINT "transactions_kind" CHECK ("kind" = any ('{send,batch,mint,transfer,collection,token,token_mint,token_transfer,deployment}'::text[])),
	CONSTRAINT "transactions_fee_asset" CHECK (("transactions"."fee_asset" is null) = ("transactions"."fee_asset_cost" is null)),
	CONSTRAINT "transactions_status" CHECK ("status" = any ('{submitted,pending,success,failed}'::text[])),
	CONSTRAINT "transactions_error_code" CHECK ("error_code" = any ('{execution_reverted,contract_wallet_not_deployed,expired,nonce_taken,reorganised}'::text[])),
	CONSTRAINT "transactions_failed_says_why" CHECK (("transactions"."status" = 'failed') = ("transactions"."error_code" is not null)),
	CONSTRAINT "transactions_chosen" CHECK ("transactions"."rungs" >= 1 and "transactions"."chosen" between 0 and "transactions"."rungs"),
	CONSTRAINT "transactions_traceparent" CHECK (length("transactions"."traceparent") = 55),
	CONSTRAINT "transactions_given_up" CHECK ("given_up" = any ('{expired,cancelled,contract_wallet_not_deployed}'::text[])),
	CONSTRAINT "transactions_given_up_is_chosen" CHECK (("transactions"."chosen" = "transactions"."rungs") = ("transactions"."given_up" is not null)),
	CONSTRAINT "transactions_live_holds_nonce" CHECK ("transactions"."holds_nonce" or "transactions"."status" = 'failed' or "transactions"."valid_until_block" is not null)
);
--> statement-breakpoint
CREATE TABLE "email_codes" (
	"project_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"purpose" text NOT NULL,
	"email" text NOT NULL,
	"code_mac" "bytea" NOT NULL,
	"tries" smallint DEFAULT 0 NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (6) with time zone NOT NULL,
	CONSTRAINT "email_codes_project_id_user_id_purpose_pk" PRIMARY KEY("project_id","user_id","purpose"),
	CONSTRAINT "email_codes_purpose" CHECK ("purpose" = any ('{login,add_email}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "mails" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"recipient" text NOT NULL,
	"subject" text NOT NULL,
	"sealed" "bytea",
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (6) with time zone NOT NULL,
	"sent_at" timestamp (6) with time zone,
	"failure" text
);
--> statement-breakpoint
CREATE TABLE "nonces" (
	"project_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"nonce" text NOT NULL,
	"user_id" uuid,
	"target" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (6) with time zone NOT NULL,
	"mac" "bytea",
	CONSTRAINT "nonces_project_id_kind_nonce_pk" PRIMARY KEY("project_id","kind","nonce"),
	CONSTRAINT "nonces_kind" CHECK ("kind" = any ('{wallet,passkey_login,passkey_registration,issuer}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "passkeys" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"project_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"credential_id" "bytea" NOT NULL,
	"public_key" "bytea" NOT NULL,
	"rp_id" text NOT NULL,
	"sign_count" bigint NOT NULL,
	"transports" text[] NOT NULL,
	"aaguid" uuid NOT NULL,
	"backup_eligible" boolean NOT NULL,
	"backed_up" boolean NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (6) with time zone,
	"mac" "bytea" NOT NULL,
	CONSTRAINT "passkeys_credential" UNIQUE("project_id","credential_id")
);
--> statement-breakpoint
CREATE TABLE "secret_changes" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"project_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"secret" text NOT NULL,
	"actor" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "secret_changes_secret" CHECK ("secret" = any ('{pin,recovery_code,passkey}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "session_challenges" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"way" text NOT NULL,
	"code_hash" "bytea" NOT NULL,
	"link_hash" "bytea",
	"verifier_hash" "bytea",
	"email" text,
	"user_id" uuid,
	"asker_address" text NOT NULL,
	"asker_device" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (6) with time zone NOT NULL,
	"completed_at" timestamp (6) with time zone,
	"authenticated_at" timestamp (6) with time zone,
	"used_at" timestamp (6) with time zone,
	"mac" "bytea",
	CONSTRAINT "session_challenges_code" UNIQUE("code_hash"),
	CONSTRAINT "session_challenges_link" UNIQUE("link_hash"),
	CONSTRAINT "session_challenges_way" CHECK ("way" = any ('{session_challenge,magic_link,issuer}'::text[])),
	CONSTRAINT "session_challenges_mailed" CHECK ((way = 'magic_link') = (link_hash is not null)),
	CONSTRAINT "session_challenges_link_email" CHECK ((link_hash is null) = (email is null)),
	CONSTRAINT "session_challenges_completed" CHECK (completed_at is null or user_id is not null),
	CONSTRAINT "session_challenges_authenticated" CHECK ((completed_at is null) = (authenticated_at is null)),
	CONSTRAINT "session_challenges_used" CHECK (used_at is null or completed_at is not null)
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"way" text NOT NULL,
	"asker_address" text NOT NULL,
	"asker_device" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"authenticated_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"generation" integer DEFAULT 1 NOT NULL,
	"refreshed_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (6) with time zone NOT NULL,
	"ended_at" timestamp (6) with time zone,
	"ended_by" text,
	"mac" "bytea",
	CONSTRAINT "sessions_way" CHECK ("way" = any ('{email_code,wallet,passkey,anonymous,session_challenge,magic_link,issuer}'::text[])),
	CONSTRAINT "sessions_ended" CHECK ((ended_at is null) = (ended_by is null)),
	CONSTRAINT "sessions_ended_by" CHECK ("ended_by" = any ('{logout,user,reuse,pin_changed,passkey_removed,operator}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "throttles" (
	"key" "bytea" PRIMARY KEY NOT NULL,
	"tries" integer NOT NULL,
	"window_ends_at" timestamp (6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "token_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"public_key" text NOT NULL,
	"sealed" "bytea" NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"signs_from" timestamp (6) with time zone NOT NULL,
	"published_until" timestamp (6) with time zone
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"email" text,
	"sign_in_wallet" text,
	"issuer" text,
	"subject" text,
	"tokens_from" timestamp (6) with time zone,
	"kept_token" "bytea",
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"mac" "bytea" NOT NULL,
	CONSTRAINT "users_email" UNIQUE("project_id","email"),
	CONSTRAINT "users_sign_in_wallet" UNIQUE("project_id","sign_in_wallet"),
	CONSTRAINT "users_subject" UNIQUE("project_id","issuer","subject"),
	CONSTRAINT "users_project" UNIQUE("project_id","id"),
	CONSTRAINT "users_subject_issuer" CHECK ((issuer is null) = (subject is null)),
	CONSTRAINT "users_tokens_from" CHECK (tokens_from is null or issuer is not null),
	CONSTRAINT "users_kept_token" CHECK (kept_token is null or (tokens_from is not null and length(kept_token) = 32))
);
--> statement-breakpoint
CREATE TABLE "deployment_key" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"wrapped" "bytea" NOT NULL,
	CONSTRAINT "deployment_key_single" CHECK ("deployment_key"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "developer_keys" (
	"project_id" uuid PRIMARY KEY NOT NULL,
	"sealed" "bytea" NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "keyrings" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"owner_id" text NOT NULL,
	"kind" text NOT NULL,
	"sealed" "bytea" NOT NULL,
	"imported" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "keyrings_kind" CHECK ("kind" = any ('{seed,phrase,key}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "owner_locks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"keyring_id" uuid NOT NULL,
	"control_mode" text NOT NULL,
	"sealed" "bytea" NOT NULL,
	"family_keys" "bytea",
	"policies_only" boolean DEFAULT false NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "owner_locks_one_a_mode" UNIQUE("keyring_id","control_mode"),
	CONSTRAINT "owner_locks_control_mode" CHECK ("control_mode" = any ('{developer,user}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "pin_guesses" (
	"project_id" uuid NOT NULL,
	"owner_id" text NOT NULL,
	"fails" integer DEFAULT 0 NOT NULL,
	"total" integer DEFAULT 0 NOT NULL,
	"locked_until" timestamp (6) with time zone,
	"revision" bigint DEFAULT 0 NOT NULL,
	"mac" "bytea" NOT NULL,
	"lease" uuid,
	"lease_until" timestamp (6) with time zone,
	CONSTRAINT "pin_guesses_project_id_owner_id_pk" PRIMARY KEY("project_id","owner_id"),
	CONSTRAINT "pin_guesses_bounds" CHECK (fails >= 0 and fails <= 5 and total >= 0 and total <= 100)
);
--> statement-breakpoint
CREATE TABLE "policies" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"network" text NOT NULL,
	"wallet_id" uuid NOT NULL,
	"name" text NOT NULL,
	"argument_rules" jsonb NOT NULL,
	"expires_at" timestamp (6) with time zone,
	"max_total_value" numeric(78, 0),
	"max_uses" integer,
	"max_total_fee" numeric(78, 0) NOT NULL,
	"token_limits" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"rolling_limits" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"require_approval" jsonb,
	"spent_fee" numeric(78, 0) DEFAULT 0 NOT NULL,
	"spent_value" numeric(78, 0) DEFAULT 0 NOT NULL,
	"uses" bigint DEFAULT 0 NOT NULL,
	"limit_counts" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"mac" "bytea",
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"revoked_at" timestamp (6) with time zone,
	CONSTRAINT "policies_rules" CHECK (jsonb_typeof("policies"."argument_rules") = 'array' and "policies"."argument_rules" <> '[]'::jsonb),
	CONSTRAINT "policies_limits" CHECK ("policies"."spent_value" >= 0 and "policies"."spent_fee" >= 0 and "policies"."spent_fee" <= "policies"."max_total_fee" and "policies"."uses" >= 0 and "policies"."spent_value" <= coalesce("policies"."max_total_value", "policies"."spent_value") and "policies"."uses" <= coalesce("policies"."max_uses", "policies"."uses"))
);
--> statement-breakpoint
CREATE TABLE "policy_locks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"policy_id" uuid NOT NULL,
	"sealed" "bytea" NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "policy_locks_policy_id_unique" UNIQUE("policy_id")
);
--> statement-breakpoint
CREATE TABLE "project_keys" (
	"project_id" uuid NOT NULL,
	"version" integer NOT NULL,
	"root_key_id" text NOT NULL,
	"wrapped" "bytea" NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "project_keys_project_id_version_pk" PRIMARY KEY("project_id","version")
);
--> statement-breakpoint
CREATE TABLE "used_approvals" (
	"approval_id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"policy_id" uuid NOT NULL,
	"request_hash" "bytea" NOT NULL,
	"used_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "user_key_locks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"owner_id" text NOT NULL,
	"kind" text NOT NULL,
	"passkey_id" text NOT NULL,
	"sealed" "bytea",
	"version" integer NOT NULL,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "user_key_locks_one" UNIQUE("project_id","owner_id","kind","passkey_id"),
	CONSTRAINT "user_key_locks_kind" CHECK ("kind" = any ('{recovery_code,passkey}'::text[])),
	CONSTRAINT "user_key_locks_passkey" CHECK (("user_key_locks"."kind" = 'passkey') = ("user_key_locks"."passkey_id" <> ''))
);
--> statement-breakpoint
CREATE TABLE "user_keys" (
	"project_id" uuid NOT NULL,
	"owner_id" text NOT NULL,
	"salt" "bytea" NOT NULL,
	"sealed" "bytea" NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "user_keys_project_id_owner_id_pk" PRIMARY KEY("project_id","owner_id")
);
--> statement-breakpoint
CREATE TABLE "vault_journals" (
	"id" uuid PRIMARY KEY NOT NULL,
	"records" bigint NOT NULL,
	"server" text NOT NULL,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"retired_at" timestamp (6) with time zone
);
--> statement-breakpoint
CREATE TABLE "wallet_keys" (
	"wallet_id" uuid PRIMARY KEY NOT NULL,
	"keyring_id" uuid NOT NULL,
	"network" text NOT NULL,
	"control_mode" text NOT NULL,
	"public_key" "bytea" NOT NULL,
	"sealed" "bytea" NOT NULL,
	CONSTRAINT "wallet_keys_control_mode" CHECK ("control_mode" = any ('{developer,user}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "wallets" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"network" text NOT NULL,
	"owner_id" text NOT NULL,
	"name" text NOT NULL,
	"address" text NOT NULL,
	"control_mode" text NOT NULL,
	"type" text NOT NULL,
	"keyring_id" uuid NOT NULL,
	"public_key" "bytea" NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"mac" "bytea" NOT NULL,
	CONSTRAINT "wallets_one_a_network" UNIQUE("project_id","network","owner_id"),
	CONSTRAINT "wallets_address" UNIQUE("project_id","network","address"),
	CONSTRAINT "wallets_control_mode" CHECK ("control_mode" = any ('{developer,user}'::text[])),
	CONSTRAINT "wallets_type" CHECK ("type" = any ('{eoa,contract}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"project_id" uuid NOT NULL,
	"endpoint_id" uuid NOT NULL,
	"number" bigint,
	"lane" text NOT NULL,
	"state" text DEFAULT 'waiting' NOT NULL,
	"attempts" smallint DEFAULT 0 NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"next_at" timestamp (6) with time zone DEFAULT now(),
	"leased_until" timestamp (6) with time zone,
	"first_tried_at" timestamp (6) with time zone,
	"ended_at" timestamp (6) with time zone,
	"status" smallint,
	"failure" text,
	"excerpt" text,
	CONSTRAINT "webhook_deliveries_event" UNIQUE("endpoint_id","number"),
	CONSTRAINT "webhook_deliveries_state" CHECK ("state" = any ('{waiting,delivered,failed}'::text[]))
);
--> statement-breakpoint
CREATE TABLE "webhook_endpoints" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"url" text NOT NULL,
	"event_types" text[] NOT NULL,
	"contact_email" text,
	"sealed" "bytea" NOT NULL,
	"delivery_order" text DEFAULT 'wallet' NOT NULL,
	"state" text DEFAULT 'enabled' NOT NULL,
	"disabled_at" timestamp (6) with time zone,
	"disabled_why" text,
	"cursor" bigint NOT NULL,
	"paused_until" timestamp (6) with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"last_success_at" timestamp (6) with time zone,
	"last_failure_at" timestamp (6) with time zone,
	"last_failure" text,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "webhook_endpoints_project" UNIQUE("project_id","id"),
	CONSTRAINT "webhook_endpoints_state" CHECK ("state" = any ('{enabled,disabled}'::text[])),
	CONSTRAINT "webhook_endpoints_order" CHECK ("delivery_order" = any ('{wallet,none}'::text[])),
	CONSTRAINT "webhook_endpoints_disabled" CHECK ((state = 'disabled') = (disabled_at is not null))
);
--> statement-breakpoint
CREATE TABLE "vault_processes" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"root_key_ids" text[] NOT NULL,
	"started_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "workers" (
	"id" text PRIMARY KEY NOT NULL,
	"application_name" text NOT NULL,
	"started_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "approval_decisions" ADD CONSTRAINT "approval_decisions_approval_id_approvals_id_fk" FOREIGN KEY ("approval_id") REFERENCES "public"."approvals"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_wallet_id_wallets_id_fk" FOREIGN KEY ("wallet_id") REFERENCES "public"."wallets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit" ADD CONSTRAINT "audit_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_chain" ADD CONSTRAINT "audit_chain_audit_id_audit_id_fk" FOREIGN KEY ("audit_id") REFERENCES "public"."audit"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "backfills" ADD CONSTRAINT "backfills_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "cursors" ADD CONSTRAINT "cursors_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "doubtful_contracts" ADD CONSTRAINT "doubtful_contracts_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "followed_networks" ADD CONSTRAINT "followed_networks_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "heads" ADD CONSTRAINT "heads_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "seen_blocks" ADD CONSTRAINT "seen_blocks_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "abi_items" ADD CONSTRAINT "abi_items_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "collections" ADD CONSTRAINT "collections_transaction_id_transactions_id_fk" FOREIGN KEY ("transaction_id") REFERENCES "public"."transactions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "collections" ADD CONSTRAINT "collections_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "collections" ADD CONSTRAINT "collections_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "contract_facts" ADD CONSTRAINT "contract_facts_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "created_tokens" ADD CONSTRAINT "created_tokens_transaction_id_transactions_id_fk" FOREIGN KEY ("transaction_id") REFERENCES "public"."transactions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "created_tokens" ADD CONSTRAINT "created_tokens_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "hosted_images" ADD CONSTRAINT "hosted_images_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "listed_tokens" ADD CONSTRAINT "listed_tokens_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "token_uris" ADD CONSTRAINT "token_uris_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "delegate_lists" ADD CONSTRAINT "delegate_lists_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "event_counters" ADD CONSTRAINT "event_counters_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issuers" ADD CONSTRAINT "issuers_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "operator_passkeys" ADD CONSTRAINT "operator_passkeys_operator_name_operators_name_fk" FOREIGN KEY ("operator_name") REFERENCES "public"."operators"("name") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "operator_tokens" ADD CONSTRAINT "operator_tokens_operator_name_operators_name_fk" FOREIGN KEY ("operator_name") REFERENCES "public"."operators"("name") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ladders" ADD CONSTRAINT "ladders_transaction_id_transactions_id_fk" FOREIGN KEY ("transaction_id") REFERENCES "public"."transactions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "lost_transactions" ADD CONSTRAINT "lost_transactions_wallet_id_wallets_id_fk" FOREIGN KEY ("wallet_id") REFERENCES "public"."wallets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "signers" ADD CONSTRAINT "signers_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transactions" ADD CONSTRAINT "transactions_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transactions" ADD CONSTRAINT "transactions_wallet_id_wallets_id_fk" FOREIGN KEY ("wallet_id") REFERENCES "public"."wallets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transactions" ADD CONSTRAINT "transactions_signer" FOREIGN KEY ("network","signer_address") REFERENCES "public"."signers"("network","address") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "email_codes" ADD CONSTRAINT "email_codes_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mails" ADD CONSTRAINT "mails_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "nonces" ADD CONSTRAINT "nonces_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "passkeys" ADD CONSTRAINT "passkeys_project_id_user_id_users_project_id_id_fk" FOREIGN KEY ("project_id","user_id") REFERENCES "public"."users"("project_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "secret_changes" ADD CONSTRAINT "secret_changes_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "session_challenges" ADD CONSTRAINT "session_challenges_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_project_id_user_id_users_project_id_id_fk" FOREIGN KEY ("project_id","user_id") REFERENCES "public"."users"("project_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "developer_keys" ADD CONSTRAINT "developer_keys_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "keyrings" ADD CONSTRAINT "keyrings_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "owner_locks" ADD CONSTRAINT "owner_locks_keyring_id_keyrings_id_fk" FOREIGN KEY ("keyring_id") REFERENCES "public"."keyrings"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pin_guesses" ADD CONSTRAINT "pin_guesses_user_key" FOREIGN KEY ("project_id","owner_id") REFERENCES "public"."user_keys"("project_id","owner_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "policies" ADD CONSTRAINT "policies_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "policies" ADD CONSTRAINT "policies_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "policies" ADD CONSTRAINT "policies_wallet_id_wallet_keys_wallet_id_fk" FOREIGN KEY ("wallet_id") REFERENCES "public"."wallet_keys"("wallet_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "policy_locks" ADD CONSTRAINT "policy_locks_policy_id_policies_id_fk" FOREIGN KEY ("policy_id") REFERENCES "public"."policies"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_keys" ADD CONSTRAINT "project_keys_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "used_approvals" ADD CONSTRAINT "used_approvals_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "used_approvals" ADD CONSTRAINT "used_approvals_policy_id_policies_id_fk" FOREIGN KEY ("policy_id") REFERENCES "public"."policies"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_key_locks" ADD CONSTRAINT "user_key_locks_user_key" FOREIGN KEY ("project_id","owner_id") REFERENCES "public"."user_keys"("project_id","owner_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_keys" ADD CONSTRAINT "user_keys_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wallet_keys" ADD CONSTRAINT "wallet_keys_keyring_id_keyrings_id_fk" FOREIGN KEY ("keyring_id") REFERENCES "public"."keyrings"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wallet_keys" ADD CONSTRAINT "wallet_keys_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wallets" ADD CONSTRAINT "wallets_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wallets" ADD CONSTRAINT "wallets_network_networks_name_fk" FOREIGN KEY ("network") REFERENCES "public"."networks"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wallets" ADD CONSTRAINT "wallets_keyring_id_keyrings_id_fk" FOREIGN KEY ("keyring_id") REFERENCES "public"."keyrings"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_project_id_endpoint_id_webhook_endpoints_project_id_id_fk" FOREIGN KEY ("project_id","endpoint_id") REFERENCES "public"."webhook_endpoints"("project_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "approvals_open" ON "approvals" USING btree ("expires_at") WHERE "approvals"."rejected_at" is null and "approvals"."used_at" is null and "approvals"."expired_at" is null;--> statement-breakpoint
CREATE INDEX "approvals_listed" ON "approvals" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "approvals_of_policy" ON "approvals" USING btree ("policy_id","created_at");--> statement-breakpoint
CREATE INDEX "audit_project" ON "audit" USING btree ("project_id","id");--> statement-breakpoint
CREATE INDEX "audit_at" ON "audit" USING brin ("at") WITH (autosummarize=true);--> statement-breakpoint
CREATE INDEX "audit_security" ON "audit" USING btree ("id") WHERE "action" = any ('{wrong_pin,owner_locked,locked_owner_tried,guess_count_forged,policy_forged,wallet_forged,delegates_forged,write_undone,freezes_forged,wrong_pins_spent,wrong_user_secret,user_secret_forged,wrong_developer_secret,wrong_secrets_spent,catalogue_changed,bearer_malformed,api_key_unknown,access_token_forged,issuer_token_refused,session_mismatch,project_mismatch,login_failed,login_throttled,wrong_email_code,refresh_token_forged,refresh_token_reused,origin_refused,metrics_token_wrong,row_forged}'::text[]);--> statement-breakpoint
CREATE INDEX "audit_transaction" ON "audit" USING btree ((details->>'transaction')) WHERE details->>'transaction' is not null;--> statement-breakpoint
CREATE INDEX "audit_mortal_signatures" ON "audit" USING btree ("project_id",(details->>'hash')) WHERE details->>'valid_until_block' is not null;--> statement-breakpoint
CREATE INDEX "backfills_begun" ON "backfills" USING btree ("network","begun_at");--> statement-breakpoint
CREATE INDEX "backfills_open" ON "backfills" USING btree ("requested_at") WHERE done_at is null;--> statement-breakpoint
CREATE INDEX "holdings_of" ON "holdings" USING btree ("network","contract","token_id","address");--> statement-breakpoint
CREATE INDEX "movements_listed" ON "movements" USING btree ("network","address","block_number","log_index","item_index","id");--> statement-breakpoint
CREATE INDEX "movements_block" ON "movements" USING btree ("network","block_number");--> statement-breakpoint
CREATE INDEX "movements_received" ON "movements" USING btree ("network","address","contract","block_number") WHERE direction = 'in' and token_id is null and contract is not null;--> statement-breakpoint
CREATE INDEX "abi_items_selector" ON "abi_items" USING btree ("selector","kind");--> statement-breakpoint
CREATE INDEX "collections_listed" ON "collections" USING btree ("project_id","network","owner_address","created_at","transaction_id");--> statement-breakpoint
CREATE INDEX "hosted_images_uploaded" ON "hosted_images" USING btree ("project_id","created_at");--> statement-breakpoint
CREATE INDEX "listed_tokens_list" ON "listed_tokens" USING btree ("list_name");--> statement-breakpoint
CREATE UNIQUE INDEX "events_numbered" ON "events" USING btree ("project_id","number") WHERE "events"."number" is not null;--> statement-breakpoint
CREATE INDEX "events_unnumbered" ON "events" USING btree ("project_id","id") WHERE "events"."number" is null;--> statement-breakpoint
CREATE INDEX "operator_passkeys_operator" ON "operator_passkeys" USING btree ("operator_name");--> statement-breakpoint
CREATE INDEX "operator_tokens_operator" ON "operator_tokens" USING btree ("operator_name");--> statement-breakpoint
CREATE INDEX "operator_tokens_expiry" ON "operator_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "api_keys_project" ON "api_keys" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "idempotency_keys_age" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "ladders_hashes" ON "ladders" USING gin ("hash_keys") WITH (fastupdate=false);--> statement-breakpoint
CREATE UNIQUE INDEX "transactions_one_a_nonce" ON "transactions" USING btree ("network","signer_address","nonce") WHERE "transactions"."holds_nonce";--> statement-breakpoint
CREATE INDEX "transactions_unfinished" ON "transactions" USING btree ("network","created_at") WHERE not "transactions"."final";--> statement-breakpoint
CREATE INDEX "transactions_in_a_block" ON "transactions" USING btree ("network","mined_block_number") WHERE not "transactions"."final" and "transactions"."mined_block_number" is not null;--> statement-breakpoint
CREATE INDEX "transactions_untold" ON "transactions" USING btree ("network","mined_block_number") WHERE not "transactions"."final" and "transactions"."mined_block_number" is not null and "transactions"."settled_at" is null;--> statement-breakpoint
CREATE INDEX "transactions_of_project" ON "transactions" USING btree ("project_id","network","created_at","id");--> statement-breakpoint
CREATE INDEX "transactions_of_wallet" ON "transactions" USING btree ("wallet_id","created_at","id");--> statement-breakpoint
CREATE INDEX "transactions_failed_of_project" ON "transactions" USING btree ("project_id","network","created_at","id") WHERE "transactions"."error_code" is not null;--> statement-breakpoint
CREATE INDEX "transactions_newest" ON "transactions" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "transactions_failed" ON "transactions" USING btree ("created_at") WHERE error_code is not null;--> statement-breakpoint
CREATE INDEX "transactions_mortal" ON "transactions" USING btree ("network","valid_until_block") WHERE not "transactions"."final" and "transactions"."valid_until_block" is not null;--> statement-breakpoint
CREATE INDEX "transactions_of_contract_wallet" ON "transactions" USING btree ("network","contract_wallet") WHERE not "transactions"."final" and "transactions"."contract_wallet" is not null;--> statement-breakpoint
CREATE INDEX "transactions_deployments" ON "transactions" USING btree ("network","contract_wallet") WHERE "transactions"."kind" = 'deployment';--> statement-breakpoint
CREATE INDEX "transactions_created" ON "transactions" USING btree ("network","contract_address") WHERE contract_address is not null;--> statement-breakpoint
CREATE INDEX "email_codes_expiry" ON "email_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "mails_age" ON "mails" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "nonces_expiry" ON "nonces" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "passkeys_user" ON "passkeys" USING btree ("project_id","user_id");--> statement-breakpoint
CREATE INDEX "secret_changes_age" ON "secret_changes" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "session_challenges_expiry" ON "session_challenges" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "sessions_user" ON "sessions" USING btree ("project_id","user_id","created_at");--> statement-breakpoint
CREATE INDEX "sessions_expiry" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "throttles_window" ON "throttles" USING btree ("window_ends_at");--> statement-breakpoint
CREATE INDEX "users_unproven" ON "users" USING btree ("created_at") WHERE email is null and sign_in_wallet is null and issuer is null;--> statement-breakpoint
CREATE UNIQUE INDEX "keyrings_one_seed" ON "keyrings" USING btree ("project_id","owner_id") WHERE "keyrings"."kind" = 'seed';--> statement-breakpoint
CREATE INDEX "keyrings_project" ON "keyrings" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "policies_of_wallet" ON "policies" USING btree ("wallet_id","created_at","id") WHERE "policies"."revoked_at" is null;--> statement-breakpoint
CREATE INDEX "policies_listed" ON "policies" USING btree ("project_id","network","created_at","id") WHERE "policies"."revoked_at" is null;--> statement-breakpoint
CREATE INDEX "user_key_locks_project" ON "user_key_locks" USING btree ("project_id","id");--> statement-breakpoint
CREATE INDEX "wallets_watched" ON "wallets" USING btree ("network","address");--> statement-breakpoint
CREATE INDEX "wallets_listed" ON "wallets" USING btree ("project_id","network","created_at","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_waiting" ON "webhook_deliveries" USING btree ("endpoint_id","lane","number") WHERE state = 'waiting';--> statement-breakpoint
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" USING btree ("endpoint_id","next_at","number") WHERE state = 'waiting' and next_at is not null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_leased" ON "webhook_deliveries" USING btree ("endpoint_id") WHERE state = 'waiting' and leased_until is not null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_oldest" ON "webhook_deliveries" USING btree ("endpoint_id","created_at","number") WHERE state = 'waiting';--> statement-breakpoint
CREATE INDEX "webhook_deliveries_recent" ON "webhook_deliveries" USING btree ("endpoint_id","created_at","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_failed" ON "webhook_deliveries" USING btree ("endpoint_id","created_at","id") WHERE state = 'failed';--> statement-breakpoint
CREATE INDEX "webhook_deliveries_ended" ON "webhook_deliveries" USING btree ("ended_at") WHERE state <> 'waiting';--> statement-breakpoint
CREATE INDEX "webhook_endpoints_newest" ON "webhook_endpoints" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "webhook_endpoints_troubled" ON "webhook_endpoints" USING btree ("created_at","id") WHERE state = 'disabled' or failures > 0;