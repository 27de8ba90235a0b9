import { Command } from 'commander'
import { uuid } from './arguments.ts'
import { OPERATOR, print, withCtx } from './operator.ts'

export const ownerCommands = (): Command => {
  const command = new Command('owner').description('The users of projects, as their wallets name them.')
  command
    .command('unlock')
    .description(
      'Forget all wrong PINs of an owner: the five in a row, and the hundred ever. Nothing else can do this.',
    )
    .requiredOption('--project <id>', 'the project', uuid)
    .requiredOption('--owner <owner-id>', 'the owner')
    .action(({ project, owner }: { project: string; owner: string }) =>
      withCtx(async (ctx) => {
        await ctx.vault.unlockOwner({ projectId: project, ownerId: owner, actor: OPERATOR })
        print('The owner is unlocked.')
      }),
    )
  return command
}
