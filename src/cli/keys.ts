import { Command } from 'commander'
import { readConfig, readRootKeyConfig } from '../config.ts'
import type { Ctx } from '../context.ts'
import type { Progress } from '../custody/vault.ts'
import { listProjects } from '../projects/projects.ts'
import { uuid } from './arguments.ts'
import { note, OPERATOR, print, usageError, withCtx } from './operator.ts'

const noteProgress =
  (what: string) =>
  ({ done, total }: Progress): void =>
    note(`${what}: ${done} of ${total}`)

const rotateRoot = ({ to }: { to: string }) => {
  const nextRootKey = readRootKeyConfig(to)
  return withCtx(
    async (ctx) => {
      const onProgress = noteProgress('project keys wrapped anew')
      const { rootKeyId, rewrapped, already } = await ctx.vault.rotateRootKey({ actor: OPERATOR, onProgress })
      if (already) return print(`The database belongs to ${rootKeyId} already: nothing was done.`)
      print(`The database belongs to ${rootKeyId} now; ${rewrapped} project keys were wrapped anew.`)
      print(
        'Restart every API process with ROOT_KEY set to it. Keep the earlier root key for as long as backups need it.',
      )
    },
    { ...readConfig(), nextRootKey },
  )
}

/** @returns how many rows do not open. */
const rotateOne = async (
  ctx: Ctx,
  input: { readonly projectId: string; readonly resume: boolean },
): Promise<number> => {
  const { projectId } = input
  const onProgress = noteProgress(`project ${projectId}, rows re-sealed`)
  const { version, resealed, broken } = await ctx.vault.rotateProjectKey({ ...input, actor: OPERATOR, onProgress })
  print(`project ${projectId}: version ${version}, ${resealed} rows re-sealed`)
  if (broken.rows > 0)
    print(`project ${projectId}: ${broken.rows} rows do not open and were left: ${broken.first.join(', ')}`)
  return broken.rows
}

type ProjectOptions = { all?: boolean; resume?: boolean }

const rotateProject = (
  project: string | undefined,
  { all = false, resume = false }: ProjectOptions,
  command: Command,
) => {
  if ((project === undefined) !== all) throw usageError(command, 'name one project, or give --all')
  return withCtx(async (ctx) => {
    const ids = project === undefined ? (await listProjects(ctx)).map(({ id }) => id) : [project]
    let broken = 0
    for (const projectId of ids) broken += await rotateOne(ctx, { projectId, resume })
    if (broken > 0) process.exitCode = 1
  })
}

export const keyCommands = (): Command => {
  const command = new Command('keys').description(
    'The rotation of keys. Addresses, signatures and credentials stay what they are.',
  )
  command
    .command('rotate-root')
    .summary('Wrap every project key by another root key.')
    .description(
      'Wrap every project key by another root key. ROOT_KEY names the present one. All is changed at once or nothing is, so it ' +
        'can be killed and run again. API processes go on without a pause where ROOT_KEY_NEXT names the new one since before; ' +
        'others answer 503 for projects they have not used in the last ten minutes, until they are restarted with the new one.',
    )
    .requiredOption(
      '--to <root key>',
      'where the new one is: file:/path, fd:N, aws-kms:…, gcp-kms:… or vault-transit:…',
    )
    .action(rotateRoot)
  command
    .command('rotate-project')
    .summary("Make a new version of a project's key and re-seal the project under it.")
    .description(
      "Make a new version of a project's key and re-seal the project under it, while the API runs and without any credential. " +
        'It can be killed and run again.',
    )
    .argument('[project-id]', 'the project', uuid)
    .option('--all', 'every project, one after the other')
    .option('--resume', 'finish what a killed run began, without one more version')
    .action(rotateProject)
  return command
}
