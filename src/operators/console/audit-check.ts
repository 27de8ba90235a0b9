// `audit verify` in the background, as it reads every row and may take minutes. One check runs at a time, and the last
// result is kept until the process ends.

import { access, constants } from 'node:fs/promises'
import { explainFailure } from '../../platform/environment/failure.ts'
import type { Log } from '../../platform/process/log.ts'
import { isByTls, operatorSocketOf } from '../../vault/client/remote-vault.ts'
import { openVaultsAsOperator } from '../../vault/client/vaults.ts'
import { type Held, isIntact, linesOf, type Needs, verifyAll } from '../audit/verify.ts'
import type { AuditingCtx } from '../ctx.ts'

export type AuditCheck =
  | { readonly state: 'running'; readonly by: string; readonly since: Date; readonly rows: bigint }
  | {
      readonly state: 'done'
      readonly by: string
      readonly since: Date
      readonly isIntact: boolean
      readonly lines: readonly string[]
    }

/** What the console does not have: the command has it, on the machine of a vault. */
const NEEDS: Needs = {
  vault: 'the operator socket of a vault, so run "cli audit verify" on the machine of a vault',
  callers: 'the login of the API, so run "cli audit verify" with it',
  archive: 'the folder with its files, so run "cli audit verify --archive" on the machine of a vault',
}

/** The operator's sockets that this process's user may open: usually none, as only the vault's user may. */
const isOpen = async (sockets: readonly string[]): Promise<boolean> => {
  const paths = sockets.filter((socket) => !isByTls(socket)).map(operatorSocketOf)
  const open = await Promise.allSettled(paths.map((path) => access(path, constants.R_OK | constants.W_OK)))
  return open.some(({ status }) => status === 'fulfilled')
}

export const createAuditCheck = (ctx: AuditingCtx & { readonly log: Log }) => {
  let last: AuditCheck | null = null

  const verify = async (begun: { readonly by: string; readonly since: Date }): Promise<AuditCheck> => {
    const rows = { chained: 0n, service: 0n }
    const countRows = (kind: keyof typeof rows) => (count: bigint) => {
      rows[kind] = count
      last = { state: 'running', ...begun, rows: rows.chained + rows.service }
    }
    let vault: ReturnType<typeof openVaultsAsOperator> | null = null
    try {
      if (await isOpen(ctx.config.vaultSockets)) {
        vault = openVaultsAsOperator({ config: ctx.config, process: 'console-verify' })
      }
      const held: Held = { keys: ctx, vault, readsCallers: false }
      const onRows = { chained: countRows('chained'), service: countRows('service') }
      const verified = await verifyAll(ctx, held, { chain: null, heads: [], archive: null, onRows })
      return {
        state: 'done',
        ...begun,
        isIntact: isIntact(verified),
        lines: linesOf(verified, { heads: false, needs: NEEDS }),
      }
    } catch (err) {
      ctx.log.error({ err }, 'the check of the audit failed')
      return { state: 'done', ...begun, isIntact: false, lines: [`The check failed: ${explainFailure(err)}`] }
    } finally {
      vault?.close()
    }
  }

  return {
    last: (): AuditCheck | null => last,
    /** @returns false if a check is running. */
    begin: (by: string): boolean => {
      if (last?.state === 'running') return false
      const begun = { by, since: ctx.now() }
      last = { state: 'running', ...begun, rows: 0n }
      void verify(begun).then((done) => {
        last = done
      })
      return true
    },
  }
}
