CREATE TABLE "followed_networks" (
	"network" text PRIMARY KEY NOT NULL,
	"confirmations" integer NOT NULL,
	"climb_after_seconds" integer NOT NULL,
	"expire_after_seconds" integer NOT NULL,
	"updated_at" timestamp (6) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "audit" DROP CONSTRAINT "audit_action";--> statement-breakpoint
ALTER TABLE "signers" ADD COLUMN "mined_count" bigint;--> statement-breakpoint
ALTER TABLE "signers" ADD COLUMN "pending_count" bigint;--> statement-breakpoint
ALTER TABLE "signers" ADD COLUMN "balance" numeric(78, 0);--> statement-breakpoint
ALTER TABLE "signers" ADD COLUMN "heard_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "audit" ADD CONSTRAINT "audit_action" CHECK ("action" in ('project_created', 'project_activated', 'developer_secret_changed', 'api_key_created', 'api_key_revoked', 'wallet_created', 'wallet_imported', 'wallet_exported', 'control_shared', 'user_pin_changed', 'owner_unlocked', 'transaction_signed', 'transaction_submitted', 'root_key_rotated', 'project_key_rotated', 'frozen', 'unfrozen', 'transaction_retried', 'transaction_cancelled', 'job_retried'));