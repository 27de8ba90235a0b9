import { type Static, Type } from '@sinclair/typebox'
import { RULE_OPERATORS } from '../../../db/words.ts'
import {
  AddressField,
  ClosedObject,
  CredentialFields,
  closed,
  NetworkField,
  OneOf,
  OptionalUuidText,
  PagingFields,
  Text,
  takesCredentials,
  UuidField,
  VisibleText,
} from '../../platform/http/schema.ts'
import { TIME_PATTERN, TIME_RULE } from '../../platform/http/text.ts'
import { Amount, OrNull, TimeField, WholeNumber } from '../schema.ts'
import { REFUSALS } from './judge.ts'
import { PartField, SentenceField, SentencesField } from './sentence.ts'

const APPROVERS_MAX = 50
const WEEK_SECONDS = 7 * 24 * 60 * 60

const approvalFields = {
  of: WholeNumber('How many different users must approve each use.', { range: [1, APPROVERS_MAX], example: 2 }),
  expires_in_seconds: WholeNumber(
    'How long after the request the approval can be granted and used. One day if absent.',
    { range: [60, WEEK_SECONDS], example: 86_400 },
  ),
}

const APPROVER = '3b1f0c6e-8d2a-4f57-9c41-6e0d7a5b2c18'

const ApproversField = (description: string) =>
  Type.Array(UuidField('A user of the project.'), {
    minItems: 1,
    maxItems: APPROVERS_MAX,
    description,
    rule: `a list of 1 to ${APPROVERS_MAX} ids of users`,
    examples: [[APPROVER]],
  })

const RequireApproval = ClosedObject(
  'RequireApproval',
  {
    of: approvalFields.of,
    from: Type.Optional(
      ApproversField(
        'Who may approve: users of the project who have a passkey now. If absent, every user who has a passkey may approve, also customers of the app: better name them. Required in a request with an access token.',
      ),
    ),
    expires_in_seconds: Type.Optional(approvalFields.expires_in_seconds),
  },
  {
    description:
      'Each use needs approval first. The first request is answered with 202; once the approval is granted, repeat the same request with `approval_id`.',
    examples: [{ of: 1, from: [APPROVER] }],
  },
)

const ApproverPasskeys = Type.Array(
  Type.Object(
    {
      user_id: UuidField('The approver.'),
      credential_id: Type.String({
        description: "The credential's id in base64url.",
        examples: ['cGFzc2tleSBvZiBBbGljZQ'],
      }),
      public_key: Type.String({
        description:
          'The key by which the approver is known, in base64url: SubjectPublicKeyInfo, as `getPublicKey()` gives it in a browser.',
        examples: ['MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE'],
      }),
    },
    closed,
  ),
  { description: 'The passkeys that count. Compare them with those of the approvers.' },
)

const RequiredApproval = OrNull(
  Type.Object(
    {
      of: approvalFields.of,
      from: ApproversField('Who may approve.'),
      expires_in_seconds: approvalFields.expires_in_seconds,
      passkeys: Type.Optional(ApproverPasskeys),
    },
    closed,
  ),
  'Who must approve each use; null: nobody.',
)

const RULES_MAX = 50
const COLLECTION = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

const RuleBody = ClosedObject(
  'ArgumentRule',
  {
    argument: Type.String({
      maxLength: 512,
      pattern:
        '^(?:to|value|decodedInput(?:\\.[A-Za-z0-9_$]+)+|typedData\\.(?:primaryType|verifyingContract|message(?:\\.[A-Za-z0-9_$@:/-]+(?: [A-Za-z0-9_$@:/-]+)*)+))$',
      description:
        'What to compare: `to`, `value`, `decodedInput.function`, or a decoded argument by its name, or by its number from 0 if it has none. Use dots for elements of tuples and arrays, and `length` for the length of an array. For typed data `typedData.primaryType` and `typedData.verifyingContract`, both `eq`, and perhaps `typedData.message.` with a member.',
      rule: 'to, value, decodedInput.function, decodedInput. with the name of an argument, typedData.primaryType, typedData.verifyingContract, or typedData.message. with a member',
      examples: ['decodedInput.function'],
    }),
    operator: OneOf(RULE_OPERATORS, { description: 'Only integers can be ordered.', examples: ['eq'] }),
    value: Text(
      { minLength: 0, maxLength: 1_024 },
      {
        description:
          'An address, an integer in plain decimal digits or 0x hex, 0x bytes, true or false, or a text. For `decodedInput.function` the name, or the whole signature if several functions have it (`pallet.call` on Substrate networks). For `typedData.primaryType` the name, or the whole text of the type as EIP-712 encodes it.',
        examples: ['safeMint(address,string)'],
      },
    ),
    selector: Type.Optional(
      Type.String({
        pattern: '^0x[0-9a-f]{8}$',
        description:
          'The selector of the function that may be called. Answers of EVM networks have it, together with `declaration`. Optional in a request; if present, both must equal the current ones.',
        rule: '0x and 8 lower-case hex digits',
        examples: ['0xd204c45e'],
      }),
    ),
    declaration: Type.Optional(
      Text(
        { minLength: 1, maxLength: 65_536 },
        {
          description: 'The function as known when the policy was created. Only this is used to read calls.',
          examples: ['safeMint(address to, string uri)'],
        },
      ),
    ),
  },
  { description: 'A rule never matches a transaction without the argument.' },
)

const Rules = Type.Array(RuleBody, {
  minItems: 1,
  maxItems: RULES_MAX,
  description: 'All of them must match.',
  rule: `a list of 1 to ${RULES_MAX} rules`,
})

const NAME = [
  { minLength: 0, maxLength: 256 },
  { description: 'A name for people.', examples: ['Mint doors'] },
] as const satisfies Parameters<typeof Text>

const EXAMPLE_RULES = [
  { argument: 'to', operator: 'eq' as const, value: COLLECTION },
  { argument: 'decodedInput.function', operator: 'eq' as const, value: 'safeMint(address,string)' },
]

const TOKEN_LIMITS_MAX = 20
const ROLLING_LIMITS_MAX = 5
const SECONDS_MAX = 31_622_400

const Seconds = (description: string) =>
  WholeNumber(description, { range: [1, SECONDS_MAX], example: 86_400, note: ' (366 days)' })

const MaxUses = (description: string) => WholeNumber(description, { range: [1, 2_147_483_647], example: 100 })

const TokenContract = AddressField('The contract of an ERC-20 token.')

const TokenLimit = ClosedObject('TokenLimit', {
  contract_address: TokenContract,
  max_total: Amount(
    'The most, in base units of the token, of all calls of `transfer`, `transferFrom`, `approve`, `increaseAllowance` and `permit` together. Anything else that is sent to the contract is refused.',
    '1000000',
  ),
  per_seconds: Type.Optional(
    Seconds('Then the limit holds in any time of so many seconds, and otherwise for all uses together.'),
  ),
})

const RollingLimit = ClosedObject('RollingLimit', {
  per_seconds: Seconds('The limit holds in any time of so many seconds.'),
  max_total_value: Type.Optional(
    Amount('The most of the native coin, in base units, that may be sent in this time.', '1000000000000000'),
  ),
  max_uses: Type.Optional(MaxUses('The most transactions in this time; a batch counts as one.')),
})

const proposedFields = {
  network: NetworkField,
  name: Type.Optional(VisibleText(...NAME)),
  wallet_address: AddressField('A wallet of the project.'),
  argument_rules: Rules,
  expires_at: Type.Optional(
    Type.String({
      pattern: `^${TIME_PATTERN}$`,
      description: 'When the policy ends; never if absent.',
      rule: TIME_RULE,
      examples: ['2099-01-31T12:00:00Z'],
    }),
  ),
  max_total_value: Type.Optional(
    Amount('The most of the native coin, in base units, that all uses together may send.', '1000000000000000'),
  ),
  max_total_fee: Type.Optional(
    Amount(
      'The most of the native coin, in base units, that the fees of all uses together may cost. If absent: the cost of 2,500 ordinary transactions (100,000 gas; a payment on Substrate networks) at the current fees.',
      '20000000000000000',
    ),
  ),
  max_uses: Type.Optional(MaxUses('The most transactions; a batch counts as one.')),
  token_limits: Type.Optional(
    Type.Array(TokenLimit, {
      maxItems: TOKEN_LIMITS_MAX,
      description: 'The most of a token that may be taken. Only on EVM networks.',
      rule: `a list of at most ${TOKEN_LIMITS_MAX} limits`,
    }),
  ),
  rolling_limits: Type.Optional(
    Type.Array(RollingLimit, {
      maxItems: ROLLING_LIMITS_MAX,
      description: 'Limits like `max_total_value` and `max_uses` that apply to any time of a given length.',
      rule: `a list of at most ${ROLLING_LIMITS_MAX} limits`,
    }),
  ),
  require_approval: Type.Optional(RequireApproval),
}

const EXAMPLE_PROPOSAL = {
  network: 'Ethereum',
  name: 'Mint doors',
  wallet_address: WALLET,
  argument_rules: EXAMPLE_RULES,
  expires_at: '2099-01-31T12:00:00Z',
  max_uses: 100,
}

export const CreatePolicyBody = ClosedObject(
  'CreatePolicy',
  { ...proposedFields, ...CredentialFields },
  {
    ...takesCredentials('one_or_both'),
    description:
      'For a user-controlled wallet the PIN is required, by which the user grants the policy; a developer secret is optional, and is checked. For a developer-controlled wallet only the developer secret is required.',
    examples: [{ ...EXAMPLE_PROPOSAL, user_pin: '493817' }],
  },
)
export type CreatePolicyBody = Static<typeof CreatePolicyBody>

export const ProposedPolicyBody = ClosedObject('ProposedPolicy', proposedFields, {
  description: 'A proposed policy: the fields of CreatePolicy without credentials.',
  examples: [EXAMPLE_PROPOSAL],
})
export type ProposedPolicyBody = Static<typeof ProposedPolicyBody>

/** An amount of the native coin in an answer. */
const Coins = (description: string) =>
  Type.String({ description: `${description} In base units of the native coin.`, examples: ['20000000000000000'] })

const ShownTokenLimit = ClosedObject('ShownTokenLimit', {
  contract_address: TokenContract,
  max_total: Type.String({ description: 'In base units of the token.', examples: ['1000000'] }),
  per_seconds: OrNull(Type.Integer(), 'null: of all uses together.'),
  spent: Type.String({ description: 'How much counts at present.', examples: ['0'] }),
})

const ShownRollingLimit = ClosedObject('ShownRollingLimit', {
  per_seconds: Type.Integer({ description: 'In any time of so many seconds.', examples: [86_400] }),
  max_total_value: OrNull(Coins('The most that may be sent in this time.')),
  max_uses: OrNull(Type.Integer(), 'The most transactions in this time.'),
  spent_value: OrNull(Coins('How much counts at present.'), 'null: not limited.'),
  uses: OrNull(Type.Integer(), 'How many count at present; null: not limited.'),
})

export const Policy = ClosedObject('Policy', {
  uuid: UuidField('The id by which the policy is revoked.'),
  project_id: UuidField('The project.'),
  network: NetworkField,
  name: Text(...NAME),
  wallet_address: AddressField('The wallet that the policy is for.'),
  argument_rules: Type.Array(RuleBody, { description: 'All of them must match.' }),
  expires_at: OrNull(TimeField('When the policy ends.'), 'null: never.'),
  max_uses: Type.Optional(OrNull(Type.Integer(), 'The most transactions; null: no limit.')),
  max_total_value: Type.Optional(OrNull(Coins('The most that all uses together may send.'), 'null: no limit.')),
  max_total_fee: Type.Optional(Coins('The most that the fees of all uses together may cost.')),
  token_limits: Type.Optional(Type.Array(ShownTokenLimit, { description: 'Empty: no limit.' })),
  rolling_limits: Type.Optional(Type.Array(ShownRollingLimit, { description: 'Empty: no limit.' })),
  require_approval: Type.Optional(RequiredApproval),
  uses: Type.Optional(Type.Integer({ minimum: 0, description: 'How often it was used.' })),
  spent_value: Type.Optional(Coins('What all uses together have sent.')),
  spent_fee: Type.Optional(Coins('The most that the fees of all uses together can have cost.')),
  created_at: TimeField('ISO 8601, UTC.'),
  updated_at: TimeField('ISO 8601, UTC.'),
})
export type Policy = Static<typeof Policy>

export const PolicyWords = ClosedObject(
  'PolicyWords',
  {
    name: PartField,
    wallet: SentenceField('Which wallet.'),
    may: SentencesField('What the developer may do: the kind of transaction, then each rule.'),
    limits: SentencesField('How often, until when, and the limits on value and fees.'),
    cost: SentenceField('The most that it can cost the owner in all.'),
    warnings: SentencesField('What is dangerous about it; empty if nothing is.'),
    used: SentencesField('What was done by it; empty before it is made.'),
  },
  { description: 'A policy in English, for the owner of the wallet.' },
)
export type PolicyWords = Static<typeof PolicyWords>

export const DescribedProposal = ClosedObject('DescribedProposal', {
  policy: ProposedPolicyBody,
  approver_passkeys: Type.Optional(ApproverPasskeys),
  words: PolicyWords,
})
export type DescribedProposal = Static<typeof DescribedProposal>

export const DescribedPolicy = ClosedObject('DescribedPolicy', { policy: Policy, words: PolicyWords })
export type DescribedPolicy = Static<typeof DescribedPolicy>

export const DescribedPoliciesQuery = Type.Object(
  { uuid: OptionalUuidText('Only this policy.'), ...PagingFields },
  closed,
)

export const PolicyPreview = ClosedObject(
  'PolicyPreview',
  {
    allowed: Type.Boolean({ description: 'Whether the developer may do this with `developer_secret`.' }),
    uuid: OrNull(UuidField('The policy that would be charged.')),
    needs_approval: Type.Boolean({
      description: 'Whether its approvers must agree first. Then the request is answered with 202.',
    }),
    never: OrNull(Type.String(), 'Why no policy can allow it, in one sentence.'),
    refusals: Type.Array(
      Type.Object(
        {
          uuid: UuidField('The policy.'),
          reason: OneOf(REFUSALS, { description: 'Why the policy does not allow it.', examples: ['rule_not_matched'] }),
          rule: OrNull(Type.Integer({ minimum: 0 }), 'The first of its `argument_rules` that does not match, from 0.'),
        },
        closed,
      ),
      { description: 'Why none allows it, oldest first; at most 20.' },
    ),
  },
  {
    description:
      'Whether a policy of the sender or signer allows this, after the transactions before it in a bundle. Absent unless it is a wallet within reach; a developer-controlled one must have a policy, which counts once the wallet is under policies. Gas and fees are judged only when it is signed.',
    examples: [
      {
        allowed: true,
        uuid: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f',
        needs_approval: false,
        never: null,
        refusals: [],
      },
    ],
  },
)
export type PolicyPreview = Static<typeof PolicyPreview>

export const ListPoliciesQuery = Type.Object(
  {
    network: NetworkField,
    wallet_address: Type.Optional(AddressField('Only those of this wallet.')),
    ...PagingFields,
  },
  closed,
)

export const RevokePolicyBody = ClosedObject(
  'RevokePolicy',
  { uuid: UuidField('The policy.'), ...CredentialFields },
  {
    ...takesCredentials('one'),
    description: "Needs the wallet's `user_pin` or the project's `developer_secret`: either side may revoke it.",
    examples: [{ uuid: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f', user_pin: '493817' }],
  },
)
