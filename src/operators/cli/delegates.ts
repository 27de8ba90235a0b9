import { Command } from 'commander'
import type { Network } from '../../../db/words.ts'
import type { OperatorVault } from '../../vault/contract/vault.ts'
import { EVM_NETWORK_WORDS, evmNetworkIn, uuid } from './arguments.ts'
import { OPERATOR } from './operator.ts'
import type { Shell } from './shell.ts'

type Delegates = Awaited<ReturnType<OperatorVault['listDelegates']>>

const lines = (delegates: Delegates): readonly string[] =>
  delegates.length === 0
    ? ['The project allows no delegate.']
    : delegates.map(({ network, address }) => `${network}  ${address}`)

/** The contracts to which a project's wallets may delegate. */
export const delegateCommands = (shell: Shell): Command => {
  const { print, printJson, variables, withVault, withOperatorCtx } = shell
  const command = new Command('delegates').description(
    'The contracts to which eoa wallets of a project may delegate (EIP-7702). The code of a delegate can do everything with such a wallet.',
  )
  command
    .command('list')
    .description('List the allowed contracts.')
    .argument('<project-id>', 'the project', uuid)
    .option('--json', 'print a JSON array')
    .action((projectId: string, { json }: { json?: boolean }) =>
      withVault(async (ctx) => {
        const delegates = await ctx.vault.listDelegates({ projectId })
        if (json) return printJson(delegates)
        for (const line of lines(delegates)) print(line)
      }),
    )
  for (const [change, description] of [
    ['add', 'Allow a contract, which you have read.'],
    ['remove', 'Allow a contract no longer. Wallets that have delegated to it stay so.'],
  ] as const) {
    command
      .command(change)
      .description(description)
      .argument('<project-id>', 'the project', uuid)
      .argument('<network>', EVM_NETWORK_WORDS, (text: string) => evmNetworkIn(variables)(text))
      .argument('<address>', 'the contract')
      .action((projectId: string, network: Network, text: string) =>
        withOperatorCtx(async (ctx) => {
          const address = ctx.chains.of(network).parseAddress(text, 'address')
          const delegates = await ctx.vault.changeDelegates({ projectId, network, address, change, actor: OPERATOR })
          print('Allowed now:')
          for (const line of lines(delegates)) print(line)
        }),
      )
  }
  return command
}
