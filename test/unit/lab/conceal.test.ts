import { expect, it } from 'vitest'
import { conceal } from '../../../src/lab/texts/conceal.js'

it.each([
  ['Unseal Key 1: 3f9a0c', 'Unseal Key 1: <key share>'],
  ['Recovery Key 12: 3f9a0c', 'Recovery Key 12: <key share>'],
  ['Initial Root Token: plain-root', 'Initial Root Token: <token>'],
  ['Encoded Token    AbC123==', 'Encoded Token    <token>'],
  ['OTP: 9xYz', 'OTP: <token>'],
  ['Key      Value\ntoken    plain-dev\npolicies ["root"]', 'Key      Value\ntoken    <token>\npolicies ["root"]'],
  [
    '{"keys": ["ab", "cd"], "keys_base64":["q6s="],"n":1}',
    '{"keys": ["<key share>"], "keys_base64":["<key share>"],"n":1}',
  ],
  [
    '{"unseal_keys_b64": [\n  "q6s="\n], "root_token": "abc"}',
    '{"unseal_keys_b64": ["<key share>"], "root_token": "<token>"}',
  ],
  ['{"data":{"secret_id":"5f0c","secret_id_ttl":0}}', '{"data":{"secret_id":"<token>","secret_id_ttl":0}}'],
  ['vault write x token=hvs.abcdefghijkl', "vault write x token='<token>'"],
  ['bearer hvs.abcdefghijkl went', 'bearer <token> went'],
])('a report shows %j as %j', (printed, said) => {
  expect(conceal({ steps: [{ output: printed }] })).toEqual({ steps: [{ output: said }] })
})

it.each([
  'Unseal Progress 1/3',
  'token_duration    768h',
  'the token of B was refused',
  '{"keys_shares": 5, "token_type": "service"}',
  'Key 1 of 3 was taken',
])('a report shows %j unchanged', (printed) => {
  expect(conceal(printed)).toBe(printed)
})
