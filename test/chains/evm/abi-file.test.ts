import { describe, expect, test } from 'bun:test'
import { parseAbiFile } from '../../../src/chains/evm/abi-file.ts'

const nested = (depth: number): unknown =>
  depth === 0 ? { type: 'uint8' } : { type: 'tuple', components: [nested(depth - 1)] }
const withInputs = (...inputs: readonly unknown[]) => [{ type: 'function', name: 'f', inputs }]
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ type: 'function', name: `f${index}`, inputs: [] }))
const parse = (json: unknown) => parseAbiFile(JSON.stringify(json))

const ABI = [
  { type: 'constructor', inputs: [{ type: 'nonsense' }] },
  { type: 'event', name: 'Done', inputs: [], anonymous: false },
  { type: 'receive', stateMutability: 'payable' },
  {
    type: 'function',
    name: 'open',
    stateMutability: 'view',
    inputs: [
      {
        name: 'door',
        type: 'tuple[2]',
        internalType: 'struct Door[2]',
        components: [
          { name: 'id', type: 'uint' },
          { name: '', type: 'bytes32[]' },
        ],
      },
      { name: '_key', type: 'function', internalType: 'function () external' },
    ],
    outputs: [{ type: 'nonsense' }],
  },
  { type: 'error', name: 'Locked', inputs: [{ name: 'until', type: 'uint64' }] },
]
const ITEMS = [
  {
    kind: 'function',
    signature: 'open((uint256,bytes32[])[2],function)',
    selector: expect.stringMatching(/^0x[0-9a-f]{8}$/),
    item: {
      name: 'open',
      inputs: [
        {
          name: 'door',
          type: 'tuple[2]',
          components: [
            { name: 'id', type: 'uint' },
            { name: '', type: 'bytes32[]' },
          ],
        },
        { name: '_key', type: 'function' },
      ],
    },
  },
  {
    kind: 'error',
    signature: 'Locked(uint64)',
    selector: expect.stringMatching(/^0x[0-9a-f]{8}$/),
    item: { name: 'Locked', inputs: [{ name: 'until', type: 'uint64' }] },
  },
]

describe('an ABI from a file', () => {
  test('may be an array, or an artifact, which may name its contract', () => {
    expect(parse(ABI)).toEqual({ contractName: null, leftOut: [], items: ITEMS as never })
    expect(parse({ abi: ABI, bytecode: { object: '0x' }, metadata: {} })).toEqual({
      contractName: null,
      leftOut: [],
      items: ITEMS as never,
    })
    expect(parse({ _format: 'hh-sol-artifact-1', contractName: 'Door', abi: ABI })).toEqual({
      contractName: 'Door',
      leftOut: [],
      items: ITEMS as never,
    })
  })

  test('keeps each signature once and every overload; an item without a type is a function', () => {
    const twice = [
      ...withInputs({ name: 'a', type: 'uint' }),
      { name: 'f', inputs: [{ name: 'b', type: 'uint256' }] },
      ...withInputs(),
    ]
    expect(parse(twice).items.map(({ signature, item }) => [signature, item.inputs[0]?.name])).toEqual([
      ['f(uint256)', 'a'],
      ['f()', undefined],
    ])
  })

  test('of a library is taken but for what has types of its own', () => {
    // As solc 0.8 writes them: a contract, an enum, a struct in storage, a mapping, also within a tuple.
    const own = [
      'IUniswapV3Pool',
      'Door.State',
      'Door.Data storage',
      'uint256[] storage',
      'mapping(uint256 => bool) storage',
      'IPool[]',
    ]
    const items = own.map((type, at) => ({ type: 'function', name: `own${at}`, inputs: [{ name: 'a', type }] }))
    const within = { type: 'error', name: 'within', inputs: [{ type: 'tuple', components: [{ type: 'IPool' }] }] }
    const { items: taken, leftOut } = parse([...items, within, ...withInputs({ type: 'uint8' })])
    expect(taken.map(({ signature }) => signature)).toEqual(['f(uint8)'])
    expect(leftOut).toEqual([...items.map(({ name }) => name), 'within'])
    expect(() => parse(items)).toThrow('at least one function or error without types of its library')
  })

  const refused: readonly (readonly [string, string, string])[] = [
    ['no JSON', 'pragma solidity', 'must be JSON'],
    ['a number', '1', 'must be a JSON array'],
    ['an object without an array', '{"abi":{}}', 'must be a JSON array'],
    ['null', 'null', 'must be a JSON array'],
    ['an empty one', '[]', 'at least one function or error'],
    ['only events', '[{"type":"event","name":"A"}]', 'at least one function or error'],
    ['too many items', JSON.stringify(many(2_001)), 'at most 2000 items; it has 2001'],
    ['an item that is a text', '["function f()"]', 'item 0 must be an object'],
    ['an unknown type of item', '[{"type":"struct","name":"A"}]', 'must be of the type function, error'],
    ['a function without a name', '[{"type":"function","inputs":[]}]', 'must have a name'],
    ['a name with a control character', '[{"type":"function","name":"a\\u0000","inputs":[]}]', 'must have a name'],
    ['a name that begins with a digit', JSON.stringify(withInputs({ name: '0', type: 'uint8' })), 'must have a name'],
    ['a name of 129 letters', `[{"type":"error","name":"${'a'.repeat(129)}"}]`, 'at most 128'],
    ['inputs that are no list', '[{"type":"function","name":"f","inputs":{}}]', 'must have a list of inputs'],
    ['an input without a type', JSON.stringify(withInputs({ name: 'a' })), 'must be an object with a type'],
    ['an unknown type', JSON.stringify(withInputs({ type: 'uint7' })), 'has the type "uint7"'],
    ['a fixed-point number', JSON.stringify(withInputs({ type: 'fixed128x18' })), 'has the type'],
    ['an array of nothing', JSON.stringify(withInputs({ type: 'uint8[0]' })), 'has the type'],
    ['a tuple of nothing', JSON.stringify(withInputs({ type: 'tuple', components: [] })), 'has the type "tuple"'],
    ['a tuple without components', JSON.stringify(withInputs({ type: 'tuple' })), 'must have a list'],
    ['too many nested arrays', JSON.stringify(withInputs({ type: `uint8${'[]'.repeat(9)}` })), 'has the type'],
    ['a type of a megabyte', JSON.stringify(withInputs({ type: `uint8${'[]'.repeat(500_000)}` })), 'has the type'],
    ['too many nested tuples', JSON.stringify(withInputs(nested(9))), 'goes beyond 256 parameters or 8 tuples'],
    ['too many parameters', JSON.stringify(withInputs(...Array(257).fill({ type: 'uint8' }))), 'goes beyond'],
  ]
  test.each(refused)('is refused with %s', (_, text, sentence) => {
    expect(() => parseAbiFile(text)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringContaining(sentence) }),
    )
  })
})
