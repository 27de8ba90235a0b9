import type { Db } from '../../../../db/client.ts'
import { pageOfPolicies } from '../../../../db/queries/vault/policies.ts'
import { allPages } from '../credentials/forged-keys.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { identityOf } from '../sealing/hierarchy.ts'
import { boundSpending } from './policy-spending.ts'
import { boundTerms } from './policy-terms.ts'

type Parts = { readonly db: Db; readonly projectKeys: ProjectKeys }

type CheckedPolicy = Awaited<ReturnType<typeof pageOfPolicies>>[number]

type ForgedPolicy = { readonly projectId: string; readonly id: string; readonly trouble: string }

/** The outer layer of the lock opens with the terms of the row. */
const isAsMade = async ({ projectKeys }: Parts, row: CheckedPolicy): Promise<boolean> => {
  const { projectId, keyringId, walletId, network, lock, terms } = row
  if (lock === null || network !== terms.network) return false
  const identity = identityOf.policyLock({ projectId, keyringId, walletId, lockId: lock.id, terms: boundTerms(terms) })
  return projectKeys.isOuterAsSealed({ identity, sealed: lock.sealed })
}

/** The spending has a valid MAC. */
const isAsCharged = async (
  { projectKeys }: Parts,
  { projectId, terms, spending: { mac, ...spending } }: CheckedPolicy,
) => mac !== null && projectKeys.isAsWritten({ row: boundSpending({ projectId, policyId: terms.id }, spending), mac })

const troublesOf = async (parts: Parts, row: CheckedPolicy): Promise<readonly string[]> => {
  const troubles: string[] = []
  if (!(await isAsMade(parts, row))) troubles.push('its terms or its lock are not as its owner made them')
  if (!(await isAsCharged(parts, row))) troubles.push('what it spent is not as it was written')
  return troubles
}

/**
 * For `audit verify`: the unrevoked policies that are not as they were written.
 * @param input.projectId null: of all projects.
 */
export const forgedPolicies = async (
  parts: Parts,
  input: { readonly projectId: string | null },
): Promise<readonly ForgedPolicy[]> => {
  const forged: ForgedPolicy[] = []
  for await (const row of allPages(parts.db, pageOfPolicies, input.projectId)) {
    for (const trouble of await troublesOf(parts, row)) forged.push({ projectId: row.projectId, id: row.id, trouble })
  }
  return forged
}
