CREATE TABLE "listed_tokens" (
	"network" text NOT NULL,
	"address" text NOT NULL,
	"list_name" text NOT NULL,
	"name" text NOT NULL,
	"symbol" text NOT NULL,
	"logo_url" text NOT NULL,
	"display_decimals" smallint,
	"imported_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "listed_tokens_network_address_pk" PRIMARY KEY("network","address"),
	CONSTRAINT "listed_tokens_network" CHECK ("network" in ('Ethereum', 'Polygon', 'Base', 'Avalanche', 'Polkadot', 'Vara')),
	CONSTRAINT "listed_tokens_display_decimals" CHECK (display_decimals between 0 and 255)
);
--> statement-breakpoint
ALTER TABLE "audit" DROP CONSTRAINT "audit_action";--> statement-breakpoint
CREATE INDEX "listed_tokens_list" ON "listed_tokens" USING btree ("list_name");--> statement-breakpoint
ALTER TABLE "audit" ADD CONSTRAINT "audit_action" CHECK ("action" in ('project_created', 'project_activated', 'developer_secret_changed', 'api_key_created', 'api_key_revoked', 'wallet_created', 'wallet_imported', 'wallet_exported', 'control_shared', 'user_pin_changed', 'owner_unlocked', 'transaction_signed', 'transaction_submitted', 'root_key_rotated', 'project_key_rotated', 'frozen', 'unfrozen', 'transaction_retried', 'transaction_cancelled', 'job_retried', 'abi_added', 'abi_removed', 'token_list_imported', 'token_list_removed'));