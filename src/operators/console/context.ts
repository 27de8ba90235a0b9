// The context of the console's process: the networks, the two keys with which a command writes the audit, and perhaps a
// vault, which it asks what an API may ask.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Network } from '../../../db/words.ts'
import type { NodeView } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { Config } from '../../platform/config.ts'
import { atMostEvery } from '../../platform/queue.ts'
import type { Vault } from '../../vault/contract/vault.ts'
import type { OperatingCtx } from '../ctx.ts'
import type { Finding } from '../doctor/finding.ts'
import type { createAuditCheck } from './audit-check.ts'

export type WatchedNode = NodeView & { readonly network: Network }

const LOOK_INTERVAL_MS = 2_000

/** Asks the nodes while operators read pages. A page waits only as long as it says, and shows what was heard last. */
export const createNodeWatch = ({ chains }: HasChains) => {
  // It does not reject for a node that does not answer.
  const look = atMostEvery(LOOK_INTERVAL_MS, () => Promise.all(chains.all.map(({ lookAtNodes }) => lookAtNodes())))

  return {
    read: async ({ waitMs }: { readonly waitMs: number }): Promise<readonly WatchedNode[]> => {
      await Promise.race([look(), sleep(waitMs, null, { ref: false })])
      return chains.all.flatMap(({ network, nodeViews }) => nodeViews().map((view) => ({ ...view, network })))
    },
  }
}

export type ConsoleCtx = OperatingCtx & {
  /** null if no vault is configured: then policies are not listed, and nothing can be frozen. */
  readonly vault: Vault | null
  readonly nodes: ReturnType<typeof createNodeWatch>
  readonly auditCheck: ReturnType<typeof createAuditCheck>
  readonly examine: () => Promise<readonly Finding[]>
  readonly origin: string
}

/** Where browsers reach the console. @param port the one at which it listens. */
export const originOf = ({ consoleOrigin }: Pick<Config, 'consoleOrigin'>, port: number): string =>
  consoleOrigin ?? `http://localhost:${port}`
