// Sums what wallets hold of NFTs anew. A trigger keeps `holdings` (grants.ts), but not while an operator has dropped
// it, nor right for rows that a restore wrote into both tables.

import { asOwner } from './client.ts'

const SUM = `
with summed as (
  select address, contract, token_id, sum(case direction when 'in' then amount else -amount end) as amount
  from public.movements
  where network = $1 and token_id is not null and of_wallet
  group by address, contract, token_id
  having sum(case direction when 'in' then amount else -amount end) <> 0
), gone as (
  delete from public.holdings held
  where held.network = $1 and not exists (
    select from summed
    where (summed.address, summed.contract, summed.token_id) = (held.address, held.contract, held.token_id))
  returning 1
), kept as (
  insert into public.holdings as held (network, address, contract, token_id, amount)
  select $1, address, contract, token_id, amount from summed
  on conflict (network, address, contract, token_id) do update set amount = excluded.amount
  where held.amount <> excluded.amount
  returning 1
)
select ((select count(*) from gone) + (select count(*) from kept))::int as mended`

type Mended = { readonly network: string; readonly mended: number }

/** Its indexer waits while a network is summed. @returns how many rows were wrong on each network. */
export const sumHoldings = (databaseUrl: string): Promise<readonly Mended[]> =>
  asOwner({ url: databaseUrl, applicationName: 'strongroom-db-sum-holdings' }, async (client) => {
    const { rows } = await client.query<{ network: string }>(
      'select name as network from public.networks order by name',
    )
    const sums: Mended[] = []
    for (const { network } of rows) {
      await client.query('begin')
      // All who write movements lock this first.
      await client.query("select from public.cursors where network = $1 and purpose = 'index' for update", [network])
      const { rows: sum } = await client.query<{ mended: number }>(SUM, [network])
      await client.query('commit')
      sums.push({ network, mended: sum[0]?.mended ?? 0 })
    }
    return sums
  })
