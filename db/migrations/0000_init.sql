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
	CONSTRAINT "api_keys_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "attempts" (
	"network" text NOT NULL,
	"hash" text NOT NULL,
	"transaction_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"rung" smallint NOT NULL,
	"raw" text,
	"broadcast_at" timestamp (6) with time zone,
	"last_error" text,
	CONSTRAINT "attempts_network_hash_pk" PRIMARY KEY("network","hash"),
	CONSTRAINT "attempts_rung" UNIQUE("transaction_id","kind","rung"),
	CONSTRAINT "attempts_kind" CHECK ("kind" in ('rung', 'cancel'))
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
	CONSTRAINT "audit_action" CHECK ("action" in ('project_created', 'project_activated', 'developer_secret_changed', 'api_key_created', 'api_key_revoked', 'wallet_created', 'wallet_imported', 'wallet_exported', 'control_shared', 'user_pin_changed', 'owner_unlocked', 'transaction_signed', 'transaction_submitted', 'root_key_rotated', 'project_key_rotated', 'frozen', 'unfrozen'))
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
	"decimals" smallint NOT NULL,
	"read_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "contract_facts_network_address_pk" PRIMARY KEY("network","address"),
	CONSTRAINT "contract_facts_standard" CHECK ("standard" in ('native', 'erc20', 'erc721', 'erc1155', 'other'))
);
--> statement-breakpoint
CREATE TABLE "cursors" (
	"network" text NOT NULL,
	"purpose" text NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" text NOT NULL,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "cursors_network_purpose_pk" PRIMARY KEY("network","purpose"),
	CONSTRAINT "cursors_purpose" CHECK ("purpose" in ('track', 'index'))
);
--> statement-breakpoint
CREATE TABLE "deployment" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"environment" text NOT NULL,
	"chain_ids" jsonb NOT NULL,
	"root_key_id" text NOT NULL,
	"root_key_check" "bytea" NOT NULL,
	"service_key_check" "bytea" NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "deployment_single" CHECK ("deployment"."id" = 1),
	CONSTRAINT "deployment_environment" CHECK ("environment" in ('testnet', 'mainnet'))
);
--> statement-breakpoint
CREATE TABLE "developer_keys" (
	"project_id" uuid PRIMARY KEY NOT NULL,
	"sealed" "bytea" NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "freezes" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"scope" text NOT NULL,
	"project_id" uuid,
	"owner_id" text,
	"wallet_id" uuid,
	"network" text,
	"reason" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "freezes_once" UNIQUE NULLS NOT DISTINCT("scope","project_id","owner_id","wallet_id","network"),
	CONSTRAINT "freezes_scope" CHECK ("scope" in ('project', 'owner', 'wallet', 'network')),
	CONSTRAINT "freezes_names_its_thing" CHECK (case "freezes"."scope"
        when 'project' then "freezes"."project_id" is not null and "freezes"."owner_id" is null and "freezes"."wallet_id" is null and "freezes"."network" is null
        when 'owner' then "freezes"."project_id" is not null and "freezes"."owner_id" is not null and "freezes"."wallet_id" is null and "freezes"."network" is null
        when 'wallet' then "freezes"."project_id" is not null and "freezes"."owner_id" is null and "freezes"."wallet_id" is not null and "freezes"."network" is null
        else "freezes"."project_id" is null and "freezes"."owner_id" is null and "freezes"."wallet_id" is null and "freezes"."network" is not null
      end)
);
--> statement-breakpoint
CREATE TABLE "keyrings" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"owner_id" text NOT NULL,
	"kind" text NOT NULL,
	"sealed" "bytea" NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "keyrings_kind" CHECK ("kind" in ('seed', 'phrase', 'key'))
);
--> statement-breakpoint
CREATE TABLE "metadata_documents" (
	"digest" text PRIMARY KEY NOT NULL,
	"body" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "movements" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
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
	CONSTRAINT "movements_once" UNIQUE("network","transaction_hash","log_index","item_index","address","direction"),
	CONSTRAINT "movements_direction" CHECK (direction in ('in', 'out')),
	CONSTRAINT "movements_standard" CHECK ("standard" in ('native', 'erc20', 'erc721', 'erc1155', 'other'))
);
--> statement-breakpoint
CREATE TABLE "owner_locks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"keyring_id" uuid NOT NULL,
	"control_mode" text NOT NULL,
	"sealed" "bytea" NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "owner_locks_one_a_mode" UNIQUE("keyring_id","control_mode"),
	CONSTRAINT "owner_locks_control_mode" CHECK ("control_mode" in ('developer', 'user'))
);
--> statement-breakpoint
CREATE TABLE "pin_guesses" (
	"project_id" uuid NOT NULL,
	"owner_id" text NOT NULL,
	"fails" integer DEFAULT 0 NOT NULL,
	"total" integer DEFAULT 0 NOT NULL,
	"locked_until" timestamp (6) with time zone,
	"lease" uuid,
	"lease_until" timestamp (6) with time zone,
	CONSTRAINT "pin_guesses_project_id_owner_id_pk" PRIMARY KEY("project_id","owner_id"),
	CONSTRAINT "pin_guesses_bounds" CHECK ("pin_guesses"."fails" between 0 and 5 and "pin_guesses"."total" between 0 and 100)
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
CREATE TABLE "projects" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" text NOT NULL,
	"allowed_origins" text[] DEFAULT '{}' NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"activated_at" timestamp (6) with time zone
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
CREATE TABLE "signers" (
	"network" text NOT NULL,
	"address" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "signers_network_address_pk" PRIMARY KEY("network","address")
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
CREATE TABLE "transactions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"wallet_id" uuid NOT NULL,
	"network" text NOT NULL,
	"signer_address" text NOT NULL,
	"kind" text NOT NULL,
	"nonce" bigint NOT NULL,
	"to" text,
	"value" numeric(78, 0) NOT NULL,
	"input" text NOT NULL,
	"gas_limit" numeric(78, 0) NOT NULL,
	"worst_cost" numeric(78, 0) NOT NULL,
	"status" text DEFAULT 'submitted' NOT NULL,
	"error_code" text,
	"error" text,
	"holds_nonce" boolean DEFAULT true NOT NULL,
	"final" boolean DEFAULT false NOT NULL,
	"rungs" smallint NOT NULL,
	"chosen" smallint DEFAULT 0 NOT NULL,
	"chosen_at" timestamp (6) with time zone,
	"clock_started_at" timestamp (6) with time zone,
	"shown_hash" text,
	"mined_block_number" bigint,
	"mined_block_hash" text,
	"contract_address" text,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"broadcast_at" timestamp (6) with time zone,
	"settled_at" timestamp (6) with time zone,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "transactions_kind" CHECK ("kind" in ('send', 'mint', 'transfer', 'collection')),
	CONSTRAINT "transactions_status" CHECK ("status" in ('submitted', 'pending', 'success', 'failed')),
	CONSTRAINT "transactions_failed_says_why" CHECK (("transactions"."status" = 'failed') = ("transactions"."error_code" is not null)),
	CONSTRAINT "transactions_chosen" CHECK ("transactions"."rungs" >= 1 and "transactions"."chosen" between 0 and "transactions"."rungs"),
	CONSTRAINT "transactions_live_holds_nonce" CHECK ("transactions"."holds_nonce" or "transactions"."status" = 'failed')
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
CREATE TABLE "wallet_keys" (
	"wallet_id" uuid PRIMARY KEY NOT NULL,
	"sealed" "bytea" NOT NULL
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
	CONSTRAINT "wallets_one_a_network" UNIQUE("project_id","network","owner_id"),
	CONSTRAINT "wallets_address" UNIQUE("project_id","network","address"),
	CONSTRAINT "wallets_network" CHECK ("network" in ('Ethereum', 'Polygon', 'Base', 'Avalanche', 'Polkadot', 'Vara')),
	CONSTRAINT "wallets_control_mode" CHECK ("control_mode" in ('developer', 'user')),
	CONSTRAINT "wallets_type" CHECK ("type" in ('eoa', 'contract'))
);
--> statement-breakpoint
CREATE TABLE "workers" (
	"id" text PRIMARY KEY NOT NULL,
	"application_name" text NOT NULL,
	"started_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_transaction_id_transactions_id_fk" FOREIGN KEY ("transaction_id") REFERENCES "public"."transactions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit" ADD CONSTRAINT "audit_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_chain" ADD CONSTRAINT "audit_chain_audit_id_audit_id_fk" FOREIGN KEY ("audit_id") REFERENCES "public"."audit"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "collections" ADD CONSTRAINT "collections_transaction_id_transactions_id_fk" FOREIGN KEY ("transaction_id") REFERENCES "public"."transactions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "collections" ADD CONSTRAINT "collections_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "developer_keys" ADD CONSTRAINT "developer_keys_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "freezes" ADD CONSTRAINT "freezes_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "freezes" ADD CONSTRAINT "freezes_wallet_id_wallets_id_fk" FOREIGN KEY ("wallet_id") REFERENCES "public"."wallets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "keyrings" ADD CONSTRAINT "keyrings_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "owner_locks" ADD CONSTRAINT "owner_locks_keyring_id_keyrings_id_fk" FOREIGN KEY ("keyring_id") REFERENCES "public"."keyrings"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pin_guesses" ADD CONSTRAINT "pin_guesses_user_key" FOREIGN KEY ("project_id","owner_id") REFERENCES "public"."user_keys"("project_id","owner_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_keys" ADD CONSTRAINT "project_keys_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transactions" ADD CONSTRAINT "transactions_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transactions" ADD CONSTRAINT "transactions_wallet_id_wallets_id_fk" FOREIGN KEY ("wallet_id") REFERENCES "public"."wallets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transactions" ADD CONSTRAINT "transactions_signer" FOREIGN KEY ("network","signer_address") REFERENCES "public"."signers"("network","address") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_keys" ADD CONSTRAINT "user_keys_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wallet_keys" ADD CONSTRAINT "wallet_keys_wallet_id_wallets_id_fk" FOREIGN KEY ("wallet_id") REFERENCES "public"."wallets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wallets" ADD CONSTRAINT "wallets_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wallets" ADD CONSTRAINT "wallets_keyring_id_keyrings_id_fk" FOREIGN KEY ("keyring_id") REFERENCES "public"."keyrings"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_project" ON "api_keys" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "audit_project" ON "audit" USING btree ("project_id","id");--> statement-breakpoint
CREATE INDEX "collections_project" ON "collections" USING btree ("project_id","network","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "keyrings_one_seed" ON "keyrings" USING btree ("project_id","owner_id") WHERE "keyrings"."kind" = 'seed';--> statement-breakpoint
CREATE INDEX "keyrings_project" ON "keyrings" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "movements_listed" ON "movements" USING btree ("network","address","block_number","log_index","item_index","id");--> statement-breakpoint
CREATE INDEX "movements_block" ON "movements" USING btree ("network","block_number");--> statement-breakpoint
CREATE INDEX "movements_held" ON "movements" USING btree ("network","address","contract","token_id") WHERE token_id is not null;--> statement-breakpoint
CREATE INDEX "movements_collection" ON "movements" USING btree ("network","contract","token_id") WHERE token_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "transactions_one_a_nonce" ON "transactions" USING btree ("network","signer_address","nonce") WHERE "transactions"."holds_nonce";--> statement-breakpoint
CREATE INDEX "transactions_unfinished" ON "transactions" USING btree ("network","updated_at") WHERE not "transactions"."final";--> statement-breakpoint
CREATE INDEX "transactions_project" ON "transactions" USING btree ("project_id","created_at");--> statement-breakpoint
CREATE INDEX "transactions_created" ON "transactions" USING btree ("network","contract_address") WHERE contract_address is not null;--> statement-breakpoint
CREATE INDEX "wallets_watched" ON "wallets" USING btree ("network","address");--> statement-breakpoint
CREATE INDEX "wallets_listed" ON "wallets" USING btree ("project_id","network","created_at","id");