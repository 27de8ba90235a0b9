// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// Leaves coins to heirs by self-destructions: of what was created earlier and outlives them, and of what was not (EIP-6780).
contract LastWill {
  address private immutable _elder;

  constructor() payable { _elder = _create(0); }

  function bequeath(address heir) external payable { _end(_elder, heir, msg.value); }

  /// Half by one that lives for this transaction only; then half in vain.
  function bequeathByAnother(address heir) external payable {
    bytes memory code = _code();
    uint256 value = msg.value / 2;
    address other;
    assembly { other := create2(value, add(code, 32), mload(code), 0) }
    require(other != address(0));
    _end(other, heir, 0);
    try this.bequeathInVain{value: msg.value - value}(heir) {} catch {}
  }

  function bequeathInVain(address heir) external payable {
    _end(_elder, heir, msg.value);
    revert("undone");
  }

  function _end(address testator, address heir, uint256 value) private {
    (bool ok,) = testator.call{value: value}(abi.encode(heir));
    require(ok);
  }

  function _create(uint256 value) private returns (address made) {
    bytes memory code = _code();
    assembly { made := create(value, add(code, 32), mload(code)) }
    require(made != address(0));
  }

  /// Returns what, called, leaves all that it has to the address in its call data (PUSH0 CALLDATALOAD SELFDESTRUCT).
  function _code() private pure returns (bytes memory) { return hex"625f35ff5f526003601df3"; }
}
