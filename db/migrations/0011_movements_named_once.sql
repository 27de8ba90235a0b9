ALTER TABLE "movements" DROP CONSTRAINT "movements_once";--> statement-breakpoint
ALTER TABLE "movements" ALTER COLUMN "id" DROP DEFAULT;