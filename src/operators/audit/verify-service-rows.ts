import type { HasDb } from '../../../db/client.ts'
import { type AuditRecord, chainOf, pageOfServiceRows } from '../../../db/queries/audit-rows.ts'
import { type Secret, WORKER_ACTIONS, WORKER_EVENTS } from '../../../db/words.ts'
import { retiredAuditKeys } from '../../identity/retired-keys.ts'
import { auditVerifier, auditVerifierWith } from '../../platform/audit/audit.ts'
import { AUDIT_PURPOSE, type HasIdentity, type HasSealer, type Sealer } from '../../platform/sealing/sealer.ts'
import type { Broken } from '../../vault/contract/vault.ts'

const ROWS_A_PAGE = 1_000

export type ServiceRows = { readonly rows: number; readonly broken: readonly Broken[] }

type VerifyCtx = HasDb & HasSealer & HasIdentity

/** By the present key, or by an earlier one for rows of its time. Only the chains verify rows of a lost key. */
const verifierOf = async (
  db: VerifyCtx['db'],
  { secret, sealer }: { readonly secret: Secret; readonly sealer: Sealer },
): Promise<(row: AuditRecord) => boolean> => {
  const byPresent = auditVerifier(sealer)
  const earlier = (await retiredAuditKeys({ db, sealer }, { secret, purpose: AUDIT_PURPOSE })).map((key) => ({
    ...key,
    verifies: key.verifies && auditVerifierWith(key.verifies),
  }))
  return (row) =>
    byPresent(row) ||
    earlier.some(({ firstAuditId, lastAuditId, verifies }) => {
      const isOfItsTime = firstAuditId <= row.id && row.id <= lastAuditId
      return isOfItsTime && (verifies === null || verifies(row))
    })
}

/** Whether a row was written by an API, a command or, for its few actions, a worker. */
const verifierOfAll = async ({ db, sealer, identity }: VerifyCtx): Promise<(row: AuditRecord) => boolean> => {
  const ofWorker = await verifierOf(db, { secret: 'SERVICE_KEY', sealer })
  const ofApi = await verifierOf(db, { secret: 'IDENTITY_KEY', sealer: identity })
  return (row) => {
    if (WORKER_ACTIONS.some((each) => each === row.action)) return ofWorker(row)
    return ofApi(row) || (WORKER_EVENTS.some((each) => each === row.action) && ofWorker(row))
  }
}

/** Recomputes the MAC of every audit row that no vault writes, and names the first changed one of each chain. */
export const verifyServiceRows = async (
  ctx: VerifyCtx,
  input: { readonly chain: string | null; readonly onProgress: (rows: bigint) => void },
): Promise<ServiceRows> => {
  const isAsWritten = await verifierOfAll(ctx)
  const broken = new Map<string, Broken>()
  let rows = 0
  for (let after: bigint = 0n; ; ) {
    const page = await pageOfServiceRows(ctx.db, { ...input, after, limit: ROWS_A_PAGE })
    for (const row of page) {
      const chain = chainOf(row)
      if (broken.has(chain) || (row.exactTime && isAsWritten(row))) continue
      broken.set(chain, { chain, position: null, auditId: row.id, trouble: 'its audit row is not as it was written' })
    }
    rows += page.length
    input.onProgress(BigInt(rows))
    const last = page.at(-1)
    if (last === undefined || page.length < ROWS_A_PAGE) return { rows, broken: [...broken.values()] }
    after = last.id
  }
}
