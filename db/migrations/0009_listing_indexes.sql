DROP INDEX "collections_project";--> statement-breakpoint
DROP INDEX "movements_held";--> statement-breakpoint
DROP INDEX "movements_collection";--> statement-breakpoint
CREATE INDEX "collections_listed" ON "collections" USING btree ("project_id","network","owner_address","created_at","transaction_id");--> statement-breakpoint
CREATE INDEX "movements_held_by" ON "movements" USING btree ("network","address","contract","token_id","direction","amount") WHERE token_id is not null;--> statement-breakpoint
CREATE INDEX "movements_held_of" ON "movements" USING btree ("network","contract","token_id","address","direction","amount") WHERE token_id is not null;--> statement-breakpoint
CREATE INDEX "movements_received" ON "movements" USING btree ("network","address","contract","block_number") WHERE direction = 'in' and token_id is null and contract is not null;