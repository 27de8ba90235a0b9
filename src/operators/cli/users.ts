import { Command } from 'commander'
import type { SessionRow } from '../../../db/queries/sessions.ts'
import { replaceTokenKeys } from '../../identity/auth/access-token.ts'
import { revokeSessions } from '../../identity/users/end-sessions.ts'
import { LISTED_MAX, listSessions, listUsers, type NamedUser, showUser } from '../../identity/users/list.ts'
import { removeAllPasskeys } from '../../identity/users/passkeys.ts'
import { OPERATOR, rowAsJson, usageError, uuid } from './arguments.ts'
import type { Shell } from './shell.ts'

const shownSession = ({ askerAddress: address, askerDevice: device, ...row }: SessionRow) => {
  const { id, userId, way, createdAt, refreshedAt, expiresAt, endedAt, endedBy } = row
  return rowAsJson({ id, userId, way, address, device, createdAt, refreshedAt, expiresAt, endedAt, endedBy })
}

const listOfSessions = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('list')
    .description(`List a project's sessions, newest first, at most ${LISTED_MAX}, including ended ones.`)
    .requiredOption('--project <id>', 'the project', uuid)
    .option('--user <id>', 'only those of this user', uuid)
    .option('--json', 'print a JSON array')
    .action(({ project: projectId, user, json }: { project: string; user?: string; json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const sessions = await listSessions(ctx, { projectId, ...(user === undefined ? {} : { userId: user }) })
        if (json) return printJson(sessions.map(shownSession))
        for (const { id, userId, way, askerAddress, askerDevice, expiresAt, endedAt, endedBy } of sessions) {
          const end =
            endedAt === null ? `expires ${expiresAt.toISOString()}` : `ended ${endedAt.toISOString()} by ${endedBy}`
          // A device chooses its own name, so remove control characters, which terminals would obey.
          const device = askerDevice.replace(/\p{C}/gu, ' ')
          print(`${id}  user ${userId}  ${way}  ${end}  from ${askerAddress || '-'}  ${device}`)
        }
      }),
    )

type RevokeOptions = { user?: string; project?: string }

const revoke = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('revoke')
    .description('End a session, or all sessions of a user, at once.')
    .argument('[session-id]', 'the session', uuid)
    .option('--user <id>', 'all sessions of this user', uuid)
    .option('--project <id>', "the user's project", uuid)
    .action((id: string | undefined, { user, project }: RevokeOptions, command: Command) => {
      if ((id === undefined) === (user === undefined) || (user === undefined) !== (project === undefined)) {
        throw usageError(command, 'name one session, or give --user and --project')
      }
      const which =
        user === undefined || project === undefined ? { sessionId: id ?? '' } : { projectId: project, userId: user }
      return withIdentityCtx(async (ctx) => {
        const ended = await revokeSessions(ctx, { which, actor: OPERATOR })
        const summary = ended === 1 ? 'One session is revoked' : `${ended} sessions are revoked`
        print(
          ended === 0 ? 'Nothing was revoked: it had already ended.' : `${summary}: refused from the next request on.`,
        )
      })
    })

const replaceKeys = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('replace-keys')
    .summary('Replace all signing keys of access tokens by a new one, for instance after a leak.')
    .description(
      'Replace all signing keys of access tokens by a new one, for instance after a leak. Every access token of every project ' +
        'ends within 30 seconds. Sessions go on: their refresh tokens get new access tokens.',
    )
    .option('--yes', 'required: without it nothing is done')
    .action(({ yes = false }: { yes?: boolean }, command: Command) => {
      if (!yes) throw usageError(command, 'this ends every access token of every project; confirm it with --yes')
      return withIdentityCtx(async (ctx) => {
        const id = await replaceTokenKeys(ctx, (tx, subject) =>
          ctx.audit.record(tx, { projectId: null, actor: OPERATOR, action: 'token_key_rotated', subject, details: {} }),
        )
        print(`The key of access tokens is ${id} now. Tokens of earlier keys are refused within 30 seconds.`)
      })
    })

export const sessionCommands = (shell: Shell): Command =>
  new Command('sessions')
    .description("End users' sessions, and the signing keys of their access tokens.")
    .addCommand(listOfSessions(shell))
    .addCommand(revoke(shell))
    .addCommand(replaceKeys(shell))

const shown = ({ id, email, signInWallet, issuer, issuerName, subject, createdAt }: NamedUser) =>
  rowAsJson({ id, email, signInWallet, issuer, issuerName, subject, createdAt })

/** Such as `sub:1234 at acme (https://issuer.example)`; the URL alone if the project has removed the issuer. */
const atIssuer = ({ issuer, issuerName, subject }: NamedUser): string | null => {
  if (issuer === null) return null
  return `${subject} at ${issuerName === null ? issuer : `${issuerName} (${issuer})`}`
}

const list = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('list')
    .description(`List a project's users, newest first, at most ${LISTED_MAX}.`)
    .requiredOption('--project <id>', 'the project', uuid)
    .option('--json', 'print a JSON array')
    .action(({ project, json }: { project: string; json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const users = await listUsers(ctx, project)
        if (json) return printJson(users.map(shown))
        for (const user of users) {
          const { id, createdAt, email, signInWallet } = user
          const ways = [email, signInWallet, atIssuer(user)].map((way) => way ?? '-')
          print(`${id}  since ${createdAt.toISOString()}  ${ways.join('  ')}`)
        }
      }),
    )

const show = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('show')
    .description('Show how a user can log in.')
    .argument('<user-id>', 'the user', uuid)
    .requiredOption('--project <id>', 'the project', uuid)
    .option('--json', 'print { id, email, sign_in_wallet, issuer, issuer_name, subject, created_at, passkeys }')
    .action((userId: string, { project: projectId, json }: { project: string; json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const user = await showUser(ctx, { projectId, userId })
        if (json) return printJson({ ...shown(user), passkeys: user.passkeys })
        print(`user:     ${user.id}`)
        print(`since:    ${user.createdAt.toISOString()}`)
        print(`e-mail:   ${user.email ?? 'none'}`)
        print(`wallet:   ${user.signInWallet ?? 'none'}`)
        print(`issuer:   ${atIssuer(user) ?? 'none'}`)
        print(`passkeys: ${user.passkeys}`)
      }),
    )

const removePasskeys = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('remove-passkeys')
    .description(
      'Remove all passkeys of a user and end all their sessions, for instance if a stranger added a passkey.',
    )
    .argument('<user-id>', 'the user', uuid)
    .requiredOption('--project <id>', 'the project', uuid)
    .action((userId: string, { project: projectId }: { project: string }) =>
      withIdentityCtx(async (ctx) => {
        const removed = await removeAllPasskeys(ctx, { projectId, userId, actor: OPERATOR })
        print(
          `${removed === 1 ? 'One passkey is' : `${removed} passkeys are`} removed, and the user's sessions have ended: refused from the next request on.`,
        )
      }),
    )

export const userCommands = (shell: Shell): Command =>
  new Command('users')
    .description("Projects' end users.")
    .addCommand(list(shell))
    .addCommand(show(shell))
    .addCommand(removePasskeys(shell))

export const ownerCommands = ({ print, withVault }: Shell): Command => {
  const command = new Command('owner').description('Wallet owners: the users of projects.')
  command
    .command('unlock')
    .description(
      'Reset the count of wrong PINs of an owner: the five in a row, and the hundred in total. There is no other way.',
    )
    .requiredOption('--project <id>', 'the project', uuid)
    .requiredOption('--owner <owner-id>', 'the owner')
    .action(({ project, owner }: { project: string; owner: string }) =>
      withVault(async (ctx) => {
        await ctx.vault.unlockOwner({ projectId: project, ownerId: owner, actor: OPERATOR })
        print('The owner is unlocked.')
      }),
    )
  command
    .command('release-from-policies')
    .description(
      "Let the developer secret open an owner's developer-controlled wallets again, by itself. The project has put them under policies; nobody else can take that back.",
    )
    .requiredOption('--project <id>', 'the project', uuid)
    .requiredOption('--owner <owner-id>', 'the owner')
    .action(({ project, owner }: { project: string; owner: string }) =>
      withVault(async (ctx) => {
        await ctx.vault.releaseFromPolicies({ projectId: project, ownerId: owner, actor: OPERATOR })
        print('The wallets of the owner are under policies no more.')
      }),
    )
  return command
}
