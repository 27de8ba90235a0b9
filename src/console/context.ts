// The context of the console's process: the networks, the two keys with which a command writes the audit, and perhaps a vault,
// which it asks what an API may ask.

import { API_EVENTS } from '../../db/words.ts'
import { type AskingCtx, type Ctx, createAskingIdentityCtx } from '../context.ts'
import type { Vault } from '../custody/vault.ts'
import { examine } from '../doctor/doctor.ts'
import type { Finding } from '../doctor/finding.ts'
import { atMostEvery } from '../environment/at-most-every.ts'
import type { IdentityCtx, Process } from '../environment/contexts.ts'
import { openVaults, withVault } from '../environment/vaults.ts'
import { createSecurityEvents } from '../security/events.ts'
import { createAuditCheck } from './audit-check.ts'
import { createNodeWatch } from './node-watch.ts'

/** A check asks all nodes, vaults and the mail server. */
const EXAMINE_INTERVAL_MS = 10_000

/** What a verb of the console gets. */
export type OperatingCtx = AskingCtx & IdentityCtx & Pick<Ctx, 'securityEvents'>

export type ConsoleCtx = OperatingCtx & {
  /** null if no vault is configured: then policies are not listed, and nothing can be frozen. */
  readonly vault: Vault | null
  readonly nodes: ReturnType<typeof createNodeWatch>
  readonly auditCheck: ReturnType<typeof createAuditCheck>
  /** Checks the installation as this process finds it. */
  readonly examine: () => Promise<readonly Finding[]>
  /** Where browsers reach the console. */
  readonly origin: string
}

const baseOf = async (input: Process) => {
  if (input.config.vaultSockets.length === 0) return { ...(await createAskingIdentityCtx(input)), vault: null }
  return withVault(openVaults(input), () => createAskingIdentityCtx(input))
}

/** @throws NotReadyYet before the first API, and Error if a key or the environment does not belong to the database. */
export const createConsoleCtx = async (input: Process): Promise<Omit<ConsoleCtx, 'origin'>> => {
  const base = await baseOf(input)
  return {
    ...base,
    securityEvents: createSecurityEvents({ ...base, written: API_EVENTS }),
    nodes: createNodeWatch(base),
    auditCheck: createAuditCheck(base),
    examine: atMostEvery(EXAMINE_INTERVAL_MS, () => examine({ ...base, role: 'strongroom_console' })),
  }
}
