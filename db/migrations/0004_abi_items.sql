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
	CONSTRAINT "abi_items_once" UNIQUE("abi_name","kind","signature"),
	CONSTRAINT "abi_items_kind" CHECK ("kind" in ('function', 'error')),
	CONSTRAINT "abi_items_network" CHECK ("network" in ('Ethereum', 'Polygon', 'Base', 'Avalanche', 'Polkadot', 'Vara')),
	CONSTRAINT "abi_items_bound" CHECK (("abi_items"."network" is null) = ("abi_items"."address" is null)),
	CONSTRAINT "abi_items_selector_form" CHECK ("abi_items"."selector" ~ '^0x[0-9a-f]{8}$')
);
--> statement-breakpoint
ALTER TABLE "audit" DROP CONSTRAINT "audit_action";--> statement-breakpoint
CREATE INDEX "abi_items_selector" ON "abi_items" USING btree ("selector","kind");--> statement-breakpoint
ALTER TABLE "audit" ADD CONSTRAINT "audit_action" CHECK ("action" in ('project_created', 'project_activated', 'developer_secret_changed', 'api_key_created', 'api_key_revoked', 'wallet_created', 'wallet_imported', 'wallet_exported', 'control_shared', 'user_pin_changed', 'owner_unlocked', 'transaction_signed', 'transaction_submitted', 'root_key_rotated', 'project_key_rotated', 'frozen', 'unfrozen', 'transaction_retried', 'transaction_cancelled', 'job_retried', 'abi_added', 'abi_removed'));