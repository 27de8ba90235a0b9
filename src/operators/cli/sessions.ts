import { Command } from 'commander'
import type { SessionRow } from '../../../db/queries/sessions.ts'
import { replaceTokenKeys } from '../../identity/auth/access-token.ts'
import { revokeSessions } from '../../identity/users/end-sessions.ts'
import { LISTED_MAX, listSessions } from '../../identity/users/list.ts'
import { uuid } from './arguments.ts'
import { OPERATOR, rowAsJson, usageError } from './operator.ts'
import type { Shell } from './shell.ts'

const shown = ({ askerAddress: address, askerDevice: device, ...row }: SessionRow) => {
  const { id, userId, way, createdAt, refreshedAt, expiresAt, endedAt, endedBy } = row
  return rowAsJson({ id, userId, way, address, device, createdAt, refreshedAt, expiresAt, endedAt, endedBy })
}

const list =
  ({ print, printJson, withReadingCtx }: Shell) =>
  ({ project: projectId, user, json }: { project: string; user?: string; json?: boolean }) =>
    withReadingCtx(async (ctx) => {
      const sessions = await listSessions(ctx, { projectId, ...(user === undefined ? {} : { userId: user }) })
      if (json) return printJson(sessions.map(shown))
      for (const { id, userId, way, askerAddress, askerDevice, expiresAt, endedAt, endedBy } of sessions) {
        const end =
          endedAt === null ? `expires ${expiresAt.toISOString()}` : `ended ${endedAt.toISOString()} by ${endedBy}`
        // A device chooses its own name, so remove control characters, which terminals would obey.
        const device = askerDevice.replace(/\p{C}/gu, ' ')
        print(`${id}  user ${userId}  ${way}  ${end}  from ${askerAddress || '-'}  ${device}`)
      }
    })

type RevokeOptions = { user?: string; project?: string }

const revoke =
  ({ print, withIdentityCtx }: Shell) =>
  (id: string | undefined, { user, project }: RevokeOptions, command: Command) => {
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
  }

const replaceKeys =
  ({ print, withIdentityCtx }: Shell) =>
  ({ yes = false }: { yes?: boolean }, command: Command) => {
    if (!yes) throw usageError(command, 'this ends every access token of every project; confirm it with --yes')
    return withIdentityCtx(async (ctx) => {
      const id = await replaceTokenKeys(ctx, (tx, subject) =>
        ctx.audit.record(tx, { projectId: null, actor: OPERATOR, action: 'token_key_rotated', subject, details: {} }),
      )
      print(`The key of access tokens is ${id} now. Tokens of earlier keys are refused within 30 seconds.`)
    })
  }

export const sessionCommands = (shell: Shell): Command => {
  const command = new Command('sessions').description(
    "End users' sessions, and the signing keys of their access tokens.",
  )
  command
    .command('list')
    .description(`List a project's sessions, newest first, at most ${LISTED_MAX}, including ended ones.`)
    .requiredOption('--project <id>', 'the project', uuid)
    .option('--user <id>', 'only those of this user', uuid)
    .option('--json', 'print a JSON array')
    .action(list(shell))
  command
    .command('revoke')
    .description('End a session, or all sessions of a user, at once.')
    .argument('[session-id]', 'the session', uuid)
    .option('--user <id>', 'all sessions of this user', uuid)
    .option('--project <id>', "the user's project", uuid)
    .action(revoke(shell))
  command
    .command('replace-keys')
    .summary('Replace all signing keys of access tokens by a new one, for instance after a leak.')
    .description(
      'Replace all signing keys of access tokens by a new one, for instance after a leak. Every access token of every project ' +
        'ends within 30 seconds. Sessions go on: their refresh tokens get new access tokens.',
    )
    .option('--yes', 'required: without it nothing is done')
    .action(replaceKeys(shell))
  return command
}
