import { API_EVENTS } from '../../db/words.ts'
import { createSecurityEvents } from '../identity/security-events.ts'
import { createAuditCheck } from '../operators/console/audit-check.ts'
import { type ConsoleCtx, createNodeWatch } from '../operators/console/context.ts'
import { examine } from '../operators/doctor/doctor.ts'
import type { Process } from '../platform/config.ts'
import { atMostEvery } from '../platform/queue.ts'
import { openVaults, withVault } from '../vault/client/vaults.ts'
import { createAskingIdentityCtx } from './asking-contexts.ts'

/** A check asks all nodes, vaults and the mail server. */
const EXAMINE_INTERVAL_MS = 10_000

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
