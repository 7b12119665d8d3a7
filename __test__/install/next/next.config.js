module.exports = { serverExternalPackages: ['@ylcnfrht/resilience'] };
