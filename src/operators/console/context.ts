// The context of the console's process: the networks, the two keys with which a command writes the audit, and perhaps a vault,
// which it asks what an API may ask.

import type { Vault } from '../../vault/contract/vault.ts'
import type { OperatingCtx } from '../ctx.ts'
import type { Finding } from '../doctor/finding.ts'
import type { createAuditCheck } from './audit-check.ts'
import type { createNodeWatch } from './node-watch.ts'

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
