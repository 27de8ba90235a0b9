CREATE TABLE "backfills" (
	"network" text NOT NULL,
	"address" text NOT NULL,
	"key_made_at" timestamp (6) with time zone,
	"requested_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	"begun_at" timestamp (6) with time zone,
	"from_block" bigint,
	"reached_block" bigint,
	"coins_reached_block" bigint,
	"done_at" timestamp (6) with time zone,
	CONSTRAINT "backfills_network_address_pk" PRIMARY KEY("network","address"),
	CONSTRAINT "backfills_network" CHECK ("network" in ('Ethereum', 'Polygon', 'Base', 'Avalanche', 'Polkadot', 'Vara')),
	CONSTRAINT "backfills_begins_whole" CHECK (num_nonnulls(begun_at, from_block, reached_block) in (0, 3))
);
--> statement-breakpoint
ALTER TABLE "keyrings" ADD COLUMN "imported" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "backfills_begun" ON "backfills" USING btree ("network","begun_at");--> statement-breakpoint
CREATE INDEX "backfills_open" ON "backfills" USING btree ("requested_at") WHERE done_at is null;