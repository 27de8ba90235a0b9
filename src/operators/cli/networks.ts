import { Command } from 'commander'
import { readNetworks } from '../../platform/config.ts'
import { variableOf } from '../../platform/networks.ts'
import { table } from './operator.ts'
import type { Shell } from './shell.ts'

const list =
  ({ variables, print, printJson }: Shell) =>
  ({ json }: { json?: boolean }) => {
    const rows = readNetworks(variables).map((row) => ({
      network: row.network,
      family: row.family,
      chain_id: 'chainId' in row ? row.chainId : null,
      coin: row.coin.symbol,
      decimals: row.coin.decimals,
      node: variableOf(row.network, 'RPC_URL'),
      explorer_url: row.explorerUrl,
    }))
    if (json) return printJson(rows)
    const lines = rows.map((row) => Object.values(row).map((value) => String(value ?? '-')))
    print(table([['NETWORK', 'FAMILY', 'CHAIN ID', 'COIN', 'DECIMALS', 'NODE', 'EXPLORER'], ...lines]))
  }

export const networkCommands = (shell: Shell): Command => {
  const command = new Command('networks').description('Networks: those that are built in, and those of NETWORKS_FILE.')
  command
    .command('list')
    .description(
      'List the networks of this environment; says what is wrong with NETWORKS_FILE. It asks no database and no node.',
    )
    .option('--json', 'print a JSON array')
    .action(list(shell))
  return command
}
