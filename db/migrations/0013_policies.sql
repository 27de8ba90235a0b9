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
	"spent_value" numeric(78, 0) DEFAULT 0 NOT NULL,
	"uses" bigint DEFAULT 0 NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"revoked_at" timestamp (6) with time zone,
	CONSTRAINT "policies_network" CHECK ("network" in ('Ethereum', 'Polygon', 'Base', 'Avalanche', 'Polkadot', 'Vara')),
	CONSTRAINT "policies_rules" CHECK (jsonb_typeof("policies"."argument_rules") = 'array' and "policies"."argument_rules" <> '[]'::jsonb),
	CONSTRAINT "policies_limits" CHECK ("policies"."spent_value" >= 0 and "policies"."uses" >= 0 and "policies"."spent_value" <= coalesce("policies"."max_total_value", "policies"."spent_value") and "policies"."uses" <= coalesce("policies"."max_uses", "policies"."uses"))
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
ALTER TABLE "audit" DROP CONSTRAINT "audit_action";--> statement-breakpoint
ALTER TABLE "policies" ADD CONSTRAINT "policies_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "policies" ADD CONSTRAINT "policies_wallet_id_wallets_id_fk" FOREIGN KEY ("wallet_id") REFERENCES "public"."wallets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "policy_locks" ADD CONSTRAINT "policy_locks_policy_id_policies_id_fk" FOREIGN KEY ("policy_id") REFERENCES "public"."policies"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "policies_of_wallet" ON "policies" USING btree ("wallet_id","created_at","id") WHERE "policies"."revoked_at" is null;--> statement-breakpoint
CREATE INDEX "policies_listed" ON "policies" USING btree ("project_id","network","created_at","id") WHERE "policies"."revoked_at" is null;--> statement-breakpoint
ALTER TABLE "audit" ADD CONSTRAINT "audit_action" CHECK ("action" in ('project_created', 'project_activated', 'developer_secret_changed', 'api_key_created', 'api_key_revoked', 'wallet_created', 'wallet_imported', 'wallet_exported', 'control_shared', 'user_pin_changed', 'owner_unlocked', 'transaction_signed', 'transaction_submitted', 'root_key_rotated', 'project_key_rotated', 'frozen', 'unfrozen', 'transaction_retried', 'transaction_cancelled', 'job_retried', 'abi_added', 'abi_removed', 'token_list_imported', 'token_list_removed', 'session_revoked', 'passkey_added', 'passkey_removed', 'email_added', 'token_key_rotated', 'policy_created', 'policy_revoked'));