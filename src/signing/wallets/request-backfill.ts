import type { Queryable } from '../../../db/client.ts'
import { addJob } from '../../../db/jobs.ts'
import { type BackfillPlace, insertBackfill } from '../../../db/queries/backfills.ts'

/** At most one job waits for each address. */
export const backfillJobKey = ({ network, address }: BackfillPlace): string => `backfill:${network}:${address}`

/** Adds a backfill's row and job, in the transaction that adds the wallet. */
export const requestBackfill = async (
  db: Queryable,
  input: BackfillPlace & { readonly keyMadeAt: Date | null },
): Promise<void> => {
  const { network, address } = input
  await insertBackfill(db, input)
  await addJob(db, 'backfill_wallet', { network, address }, { key: backfillJobKey(input), whenKeyed: 'replace' })
}
