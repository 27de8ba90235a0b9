CREATE TABLE "runtime_metadata" (
	"network" text NOT NULL,
	"spec_name" text NOT NULL,
	"spec_version" integer NOT NULL,
	"metadata" "bytea" NOT NULL,
	"read_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "runtime_metadata_network_spec_name_spec_version_pk" PRIMARY KEY("network","spec_name","spec_version")
);
--> statement-breakpoint
ALTER TABLE "transactions" ADD COLUMN "valid_until_block" bigint;--> statement-breakpoint
CREATE INDEX "transactions_mortal" ON "transactions" USING btree ("network","valid_until_block") WHERE not "transactions"."final" and "transactions"."valid_until_block" is not null;