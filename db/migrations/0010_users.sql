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
	CONSTRAINT "email_codes_purpose" CHECK ("purpose" in ('login', 'add_email'))
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
	CONSTRAINT "nonces_project_id_kind_nonce_pk" PRIMARY KEY("project_id","kind","nonce"),
	CONSTRAINT "nonces_kind" CHECK ("kind" in ('wallet', 'passkey_login', 'passkey_registration'))
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
	CONSTRAINT "passkeys_credential" UNIQUE("project_id","credential_id")
);
--> statement-breakpoint
CREATE TABLE "session_challenges" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"code_hash" "bytea" NOT NULL,
	"link_hash" "bytea",
	"email" text,
	"user_id" uuid,
	"asker_address" text NOT NULL,
	"asker_device" text NOT NULL,
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (6) with time zone NOT NULL,
	"completed_at" timestamp (6) with time zone,
	"used_at" timestamp (6) with time zone,
	CONSTRAINT "session_challenges_code" UNIQUE("code_hash"),
	CONSTRAINT "session_challenges_link" UNIQUE("link_hash"),
	CONSTRAINT "session_challenges_link_email" CHECK ((link_hash is null) = (email is null)),
	CONSTRAINT "session_challenges_completed" CHECK (completed_at is null or user_id is not null),
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
	"generation" integer DEFAULT 1 NOT NULL,
	"refreshed_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (6) with time zone NOT NULL,
	"ended_at" timestamp (6) with time zone,
	"ended_by" text,
	CONSTRAINT "sessions_way" CHECK ("way" in ('email_code', 'magic_link', 'wallet', 'passkey', 'session_challenge', 'anonymous')),
	CONSTRAINT "sessions_ended" CHECK ((ended_at is null) = (ended_by is null)),
	CONSTRAINT "sessions_ended_by" CHECK ("ended_by" in ('logout', 'reuse', 'operator'))
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
	"created_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "users_email" UNIQUE("project_id","email"),
	CONSTRAINT "users_sign_in_wallet" UNIQUE("project_id","sign_in_wallet"),
	CONSTRAINT "users_project" UNIQUE("project_id","id")
);
--> statement-breakpoint
ALTER TABLE "audit" DROP CONSTRAINT "audit_action";--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "passkey_rp_id" text;--> statement-breakpoint
ALTER TABLE "email_codes" ADD CONSTRAINT "email_codes_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mails" ADD CONSTRAINT "mails_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "nonces" ADD CONSTRAINT "nonces_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "passkeys" ADD CONSTRAINT "passkeys_project_id_user_id_users_project_id_id_fk" FOREIGN KEY ("project_id","user_id") REFERENCES "public"."users"("project_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "session_challenges" ADD CONSTRAINT "session_challenges_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_project_id_user_id_users_project_id_id_fk" FOREIGN KEY ("project_id","user_id") REFERENCES "public"."users"("project_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "email_codes_expiry" ON "email_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "mails_age" ON "mails" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "nonces_expiry" ON "nonces" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "passkeys_user" ON "passkeys" USING btree ("project_id","user_id");--> statement-breakpoint
CREATE INDEX "session_challenges_expiry" ON "session_challenges" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "sessions_user" ON "sessions" USING btree ("project_id","user_id","created_at");--> statement-breakpoint
CREATE INDEX "sessions_expiry" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "throttles_window" ON "throttles" USING btree ("window_ends_at");--> statement-breakpoint
ALTER TABLE "audit" ADD CONSTRAINT "audit_action" CHECK ("action" in ('project_created', 'project_activated', 'developer_secret_changed', 'api_key_created', 'api_key_revoked', 'wallet_created', 'wallet_imported', 'wallet_exported', 'control_shared', 'user_pin_changed', 'owner_unlocked', 'transaction_signed', 'transaction_submitted', 'root_key_rotated', 'project_key_rotated', 'frozen', 'unfrozen', 'transaction_retried', 'transaction_cancelled', 'job_retried', 'abi_added', 'abi_removed', 'token_list_imported', 'token_list_removed', 'session_revoked', 'passkey_added', 'passkey_removed', 'email_added', 'token_key_rotated'));