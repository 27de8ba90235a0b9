import { Command } from 'commander'
import type { Db } from '../../../db/client.ts'
import { countUsersWithoutOtherWay } from '../../../db/queries/key-rotation.ts'
import { listProjects } from '../../../db/queries/projects.ts'
import type { ForgedRow } from '../../vault/contract/vault.ts'
import { counted, OPERATOR, usageError } from './arguments.ts'
import type { Shell } from './shell.ts'

const PROGRESS_ROWS = 100_000

const noteRows = ({ note }: Shell) => {
  let noted = 0
  return (rows: number): void => {
    if (rows < noted + PROGRESS_ROWS) return
    noted = rows
    note(`${rows} rows read`)
  }
}

/** Names the rows that got no MAC, and then fails. */
const nameForged = ({ print, fail }: Shell, forged: readonly ForgedRow[]): void => {
  for (const { table, id, projectId, trouble } of forged) {
    print(`NOT CHANGED: table ${table}, row ${id}${projectId === null ? '' : `, project ${projectId}`}: ${trouble}.`)
  }
  if (forged.length > 0) fail()
}

const PROCESSES_LEFT =
  'Restart every process with it alone. Keep the earlier key as long as you keep backups that need it.'

/** Says who cannot log in any more. @returns how many users. */
const noteLockedOut = async ({ note }: Shell, { db }: { readonly db: Db }): Promise<number> => {
  let users = 0
  for (const { projectId, byPasskey, bySession } of await countUsersWithoutOtherWay(db)) {
    users += byPasskey + bySession
    const ways = `${counted(byPasskey, 'user')} with a passkey alone, ${counted(bySession, 'user')} with a session alone`
    note(`project ${projectId}: ${ways} will have no way to log in.`)
  }
  return users
}

const replaceLost = (shell: Shell, { yes }: { readonly yes: boolean }) =>
  shell.withLostKey(async (ctx) => {
    const { print, note, confirmed } = shell
    const { replaceLostIdentityKey } = await import('../keys/replace-lost.ts')
    for (const { id, name, allowedOrigins, returnAddresses, passkeyRpId, anonymousLogin } of await listProjects(
      ctx.db,
    )) {
      const pages = `origins ${allowedOrigins.join(' ') || '-'}, return addresses ${returnAddresses.join(' ') || '-'}`
      const logins = `passkey domain ${passkeyRpId ?? '-'}, anonymous login ${anonymousLogin ? 'on' : 'off'}`
      note(`project ${id}, ${JSON.stringify(name)}: ${pages}, ${logins}`)
    }
    const lockedOut = counted(await noteLockedOut(shell, ctx), 'user')
    const question = `Accept these projects and all users, end all API keys, passkeys and sessions, and lock out ${lockedOut}?`
    if (!yes && !(await confirmed(question))) throw new Error('Nothing was done.')
    const done = await replaceLostIdentityKey(ctx, { actor: OPERATOR }, noteRows(shell))
    if (done.already) return print(`The database already belongs to ${done.keyId}: nothing was done.`)
    nameForged(shell, done.forged)
    const ended = [`${counted(done.apiKeys, 'API key')} revoked`, `${counted(done.passkeys, 'passkey')} removed`]
    const removed = [...ended, `${counted(done.issuers, 'issuer')} removed`].join(', ')
    print(`The database belongs to ${done.keyId} now; ${counted(done.remade, 'row')} accepted, ${removed}.`)
  })

type IdentityOptions = { leaked?: boolean; lost?: boolean; yes?: boolean }

export const rotateIdentity = (shell: Shell): Command =>
  new Command('rotate-identity')
    .summary('Change IDENTITY_KEY: give rows new MACs, and seal anew what it seals.')
    .description(
      'Change IDENTITY_KEY, while the APIs run. Before, restart every API with both keys as IDENTITY_KEY and IDENTITY_KEY_OTHER, ' +
        'and then with the next one as IDENTITY_KEY and the present one as IDENTITY_KEY_OTHER. The command needs these two as well, and the ' +
        "login of the database's owner. A row gets a new MAC only if its present one is valid; others are named, and then the command ends " +
        'with 1. It can be killed and run again.',
    )
    .option(
      '--leaked',
      'somebody else may have the present key: end all sessions, access tokens and logins that have begun',
    )
    .option(
      '--lost',
      'the present key is lost, and all APIs are stopped: accept projects and users as they are, and the wallets that the vault confirms; end API keys, issuers, passkeys and sessions. Needs VAULT_SOCKET',
    )
    .option('--yes', 'do not ask for confirmation, for scripts')
    .action(({ leaked = false, lost = false, yes = false }: IdentityOptions, command: Command) => {
      const { print, confirmed, isTerminal, withIdentityCtx } = shell
      if (leaked && lost) usageError(command, 'give --leaked or --lost, not both')
      if ((leaked || lost) && !yes && !isTerminal)
        usageError(command, 'confirm the rotation with --yes, or at a terminal')
      if (lost) return replaceLost(shell, { yes })
      return withIdentityCtx(async (ctx) => {
        const { rotateIdentityKey } = await import('../keys/rotate.ts')
        if (leaked && !yes && !(await confirmed('End all sessions of all projects?')))
          throw new Error('Nothing was done.')
        const done = await rotateIdentityKey(ctx, { actor: OPERATOR, isLeaked: leaked }, noteRows(shell))
        if (done.already) return print(`The database already belongs to ${done.keyId}: nothing was done.`)
        nameForged(shell, done.forged)
        print(`The database belongs to ${done.keyId} now; ${counted(done.remade, 'row')} changed.`)
        print(PROCESSES_LEFT)
      })
    })

export const rotateService = (shell: Shell): Command =>
  new Command('rotate-service')
    .summary('Change SERVICE_KEY: seal unsent mails and the secrets of webhooks anew.')
    .description(
      'Change SERVICE_KEY, while APIs and workers run. Before, restart each of them with both keys as SERVICE_KEY and SERVICE_KEY_OTHER, ' +
        'and then with the next one as SERVICE_KEY and the present one as SERVICE_KEY_OTHER. The command needs these two as well, and the ' +
        "login of the database's owner.",
    )
    .action(() =>
      shell.withIdentityCtx(async (ctx) => {
        const { rotateServiceKey } = await import('../keys/rotate.ts')
        const done = await rotateServiceKey(ctx, { actor: OPERATOR })
        if (done.already) return shell.print(`The database already belongs to ${done.keyId}: nothing was done.`)
        nameForged(shell, done.forged)
        shell.print(`The database belongs to ${done.keyId} now; mails and webhooks sealed anew: ${done.remade}.`)
        shell.print(PROCESSES_LEFT)
      }),
    )
