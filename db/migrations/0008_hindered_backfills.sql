CREATE TABLE "doubtful_contracts" (
	"network" text NOT NULL,
	"contract" text NOT NULL,
	"from_block" bigint NOT NULL,
	"to_block" bigint NOT NULL,
	"tries" integer DEFAULT 0 NOT NULL,
	"next_try_at" timestamp (6) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "doubtful_contracts_network_contract_pk" PRIMARY KEY("network","contract"),
	CONSTRAINT "doubtful_contracts_network" CHECK ("network" in ('Ethereum', 'Polygon', 'Base', 'Avalanche', 'Polkadot', 'Vara'))
);
--> statement-breakpoint
ALTER TABLE "backfills" ADD COLUMN "traced_reached_block" bigint;--> statement-breakpoint
ALTER TABLE "backfills" ADD COLUMN "hindrance" text;--> statement-breakpoint
ALTER TABLE "backfills" ADD COLUMN "hindrance_reason" text;--> statement-breakpoint
ALTER TABLE "backfills" ADD COLUMN "hindered_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "backfills" ADD COLUMN "tries" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "backfills" ADD COLUMN "next_try_at" timestamp (6) with time zone;--> statement-breakpoint
ALTER TABLE "backfills" ADD CONSTRAINT "backfills_hindrance" CHECK ("hindrance" in ('pruned', 'behind', 'refused', 'away'));--> statement-breakpoint
ALTER TABLE "backfills" ADD CONSTRAINT "backfills_hindered_whole" CHECK (num_nonnulls(hindrance, hindrance_reason, hindered_at, next_try_at) = case tries when 0 then 0 else 4 end);