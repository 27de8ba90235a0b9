import { expect } from 'bun:test'
import { verifyCallers } from '../../src/operators/audit/verify-callers.ts'
import { runCli } from '../support/cli.ts'
import { isLong } from '../support/long.ts'
import type { Service } from '../support/service.ts'

export const FORGED = 'it is not as the service wrote it'
export const ENDED = 'the audit says that it was revoked, removed or ended'

/** What the command `audit verify` says of a row: its troubles. */
export const troublesByCommand = async ({ variables }: Service, id: string): Promise<readonly string[]> => {
  const { exitCode, output } = await runCli(['audit', 'verify', '--json'], { ...variables, VAULT_SOCKET: '' })
  const { ok, callers } = JSON.parse(output)
  const troubles = callers.forged.filter((row: { id: string }) => row.id === id)
  expect([ok, exitCode]).toEqual(callers.forged.length === 0 ? [true, 0] : [false, 1])
  return troubles.map(({ trouble }: { trouble: string }) => trouble)
}

/** The same by the check alone in the suite: the command costs five times as much. */
export const troublesOf = async (service: Service, id: string): Promise<readonly string[]> => {
  if (isLong) return troublesByCommand(service, id)
  const { forged } = await verifyCallers(service.ctx, { projectId: null })
  return forged.filter((row) => row.id === id).map(({ trouble }) => trouble)
}
