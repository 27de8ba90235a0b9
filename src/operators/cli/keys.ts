import { Command } from 'commander'
import type { HasDb } from '../../../db/client.ts'
import { listVaultProcesses } from '../../../db/queries/processes.ts'
import type { HasOperatorVault, Progress } from '../../vault/contract/vault.ts'
import { listProjects } from '../projects.ts'
import { counted, OPERATOR, usageError, uuid } from './arguments.ts'
import { rotateIdentity, rotateService } from './rotate-secrets.ts'
import type { Shell } from './shell.ts'

const noteProgress =
  ({ note }: Shell, what: string) =>
  ({ done, total }: Progress): void =>
    note(`${what}: ${done} of ${total}`)

const noteProcesses = async ({ note }: Shell, { db, vault }: HasDb & HasOperatorVault): Promise<void> => {
  const next = (await vault.status()).rootKeyIds.at(-1) ?? ''
  const running = await listVaultProcesses(db)
  const lacking = running.filter(({ rootKeyIds }) => !rootKeyIds.includes(next))
  note(`${counted(running.length, 'vault process', 'es')} running, ${lacking.length} without the next root key.`)
  for (const { name, startedAt } of lacking) {
    note(
      `${name}, started ${startedAt.toISOString()}: has no ROOT_KEY_NEXT, and will not be ready until it is restarted.`,
    )
  }
}

const rotateRoot = (shell: Shell): Command =>
  new Command('rotate-root')
    .summary('Wrap every project key with another root key.')
    .description(
      'Wrap every project key with the root key that the vault has as ROOT_KEY_NEXT. The vault does it, in one transaction, so ' +
        'the command can be killed and run again. Vaults that have both keys go on without a pause. Others are not ready any ' +
        'more and answer 503 for projects that they have not used in the last ten minutes, until you restart them with the new ' +
        'key. The command names them and asks before it begins.',
    )
    .option('--yes', 'do not ask for confirmation, for scripts')
    .action(({ yes = false }: { yes?: boolean }, command: Command) => {
      const { isTerminal, confirmed, print, withVault } = shell
      if (!yes && !isTerminal) usageError(command, 'confirm the rotation with --yes, or at a terminal')
      return withVault(async (ctx) => {
        await noteProcesses(shell, ctx)
        if (!yes && !(await confirmed('Rotate the root key now?'))) throw new Error('Nothing was done.')
        const onProgress = noteProgress(shell, 'project keys wrapped')
        const { rootKeyId, rewrapped, already } = await ctx.vault.rotateRootKey({ actor: OPERATOR }, onProgress)
        if (already) return print(`The database already belongs to ${rootKeyId}: nothing was done.`)
        print(`The database belongs to ${rootKeyId} now; ${rewrapped} project keys were wrapped with it.`)
        print(
          'Restart every vault with ROOT_KEY set to it, and without ROOT_KEY_NEXT. Keep the old root key as long as you keep backups that need it.',
        )
      })
    })

/** @returns how many rows could not be decrypted. */
const rotateOne = async (
  shell: Shell,
  ctx: HasOperatorVault,
  input: { readonly projectId: string; readonly resume: boolean },
): Promise<number> => {
  const { projectId } = input
  const { print } = shell
  const onProgress = noteProgress(shell, `project ${projectId}, rows re-sealed`)
  const { version, resealed, broken } = await ctx.vault.rotateProjectKey({ ...input, actor: OPERATOR }, onProgress)
  print(`project ${projectId}: version ${version}, ${resealed} rows re-sealed`)
  if (broken.rows > 0)
    print(
      `project ${projectId}: ${broken.rows} rows could not be decrypted and were left as they are: ${broken.first.join(', ')}`,
    )
  return broken.rows
}

type ProjectOptions = { all?: boolean; resume?: boolean }

const rotateProject = (shell: Shell): Command =>
  new Command('rotate-project')
    .summary("Make a new version of a project's key and re-encrypt the project's rows with it.")
    .description(
      "Make a new version of a project's key and re-encrypt the project's rows with it. The API keeps running, and no credential " +
        'is needed. The command can be killed and run again.',
    )
    .argument('[project-id]', 'the project', uuid)
    .option('--all', 'every project, one after the other')
    .option('--resume', 'finish what a killed run began, without another new version')
    .action((project: string | undefined, { all = false, resume = false }: ProjectOptions, command: Command) => {
      if ((project === undefined) !== all) throw usageError(command, 'name one project, or give --all')
      return shell.withVault(async (ctx) => {
        const ids = project === undefined ? (await listProjects(ctx)).map(({ id }) => id) : [project]
        let broken = 0
        for (const projectId of ids) broken += await rotateOne(shell, ctx, { projectId, resume })
        if (broken > 0) shell.fail()
      })
    })

export const keyCommands = (shell: Shell): Command =>
  new Command('keys')
    .description('Key rotation. Addresses, signatures and credentials do not change.')
    .addCommand(rotateRoot(shell))
    .addCommand(rotateProject(shell))
    .addCommand(rotateIdentity(shell))
    .addCommand(rotateService(shell))
