import { Command } from 'commander'
import { LISTED_MAX, listUsers, type NamedUser, showUser } from '../../identity/users/list.ts'
import { removeAllPasskeys } from '../../identity/users/passkeys.ts'
import { uuid } from './arguments.ts'
import { OPERATOR, rowAsJson } from './operator.ts'
import type { Shell } from './shell.ts'

const shown = ({ id, email, signInWallet, issuer, issuerName, subject, createdAt }: NamedUser) =>
  rowAsJson({ id, email, signInWallet, issuer, issuerName, subject, createdAt })

/** Such as `sub:1234 at acme (https://issuer.example)`; the URL alone if the project has removed the issuer. */
const atIssuer = ({ issuer, issuerName, subject }: NamedUser): string | null => {
  if (issuer === null) return null
  return `${subject} at ${issuerName === null ? issuer : `${issuerName} (${issuer})`}`
}

const list =
  ({ print, printJson, withReadingCtx }: Shell) =>
  ({ project, json }: { project: string; json?: boolean }) =>
    withReadingCtx(async (ctx) => {
      const users = await listUsers(ctx, project)
      if (json) return printJson(users.map(shown))
      for (const user of users) {
        const { id, createdAt, email, signInWallet } = user
        const ways = [email, signInWallet, atIssuer(user)].map((way) => way ?? '-')
        print(`${id}  since ${createdAt.toISOString()}  ${ways.join('  ')}`)
      }
    })

const show =
  ({ print, printJson, withReadingCtx }: Shell) =>
  (userId: string, { project: projectId, json }: { project: string; json?: boolean }) =>
    withReadingCtx(async (ctx) => {
      const user = await showUser(ctx, { projectId, userId })
      if (json) return printJson({ ...shown(user), passkeys: user.passkeys })
      print(`user:     ${user.id}`)
      print(`since:    ${user.createdAt.toISOString()}`)
      print(`e-mail:   ${user.email ?? 'none'}`)
      print(`wallet:   ${user.signInWallet ?? 'none'}`)
      print(`issuer:   ${atIssuer(user) ?? 'none'}`)
      print(`passkeys: ${user.passkeys}`)
    })

const removePasskeys =
  ({ print, withIdentityCtx }: Shell) =>
  (userId: string, { project: projectId }: { project: string }) =>
    withIdentityCtx(async (ctx) => {
      const removed = await removeAllPasskeys(ctx, { projectId, userId, actor: OPERATOR })
      print(
        `${removed === 1 ? 'One passkey is' : `${removed} passkeys are`} removed, and the user's sessions have ended: refused from the next request on.`,
      )
    })

export const userCommands = (shell: Shell): Command => {
  const command = new Command('users').description("Projects' end users.")
  command
    .command('list')
    .description(`List a project's users, newest first, at most ${LISTED_MAX}.`)
    .requiredOption('--project <id>', 'the project', uuid)
    .option('--json', 'print a JSON array')
    .action(list(shell))
  command
    .command('show')
    .description('Show how a user can log in.')
    .argument('<user-id>', 'the user', uuid)
    .requiredOption('--project <id>', 'the project', uuid)
    .option('--json', 'print { id, email, sign_in_wallet, issuer, issuer_name, subject, created_at, passkeys }')
    .action(show(shell))
  command
    .command('remove-passkeys')
    .description(
      'Remove all passkeys of a user and end all their sessions, for instance if a stranger added a passkey.',
    )
    .argument('<user-id>', 'the user', uuid)
    .requiredOption('--project <id>', 'the project', uuid)
    .action(removePasskeys(shell))
  return command
}

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
